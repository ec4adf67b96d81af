"""What is Redis' own: versions of its query engine, and answers that warn."""

from contextlib import closing

from tools.server_engines import one_line
from tools.vendor_engines import search

from assay.retrievers.engines.conformance.sample import FEW, encode, index

NAME = "redis"


def test_a_server_before_hybrid_search_has_its_lists(double, make):
    double.version = 80002
    with closing(make()) as e:
        index(e, FEW)
        assert e.metadata()["version"] == "8.0.2"
        assert [position for position, _ in e.keyword("dog", 3)] == [1]
        assert len(e.dense(encode("cat"), 3)) == 3
        problem = one_line(lambda: search(e))
    assert "8.0.2 is too old: FT.HYBRID needs 8.4 or later; `assay run hybrid --" in problem


def test_an_answer_that_warns_is_none(double, make):
    double.warnings = ("Timeout limit was reached",)
    with closing(make()) as e:
        index(e, FEW)
        assert "answered what no Redis answers" in one_line(lambda: search(e))
