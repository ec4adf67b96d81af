"""What is written of engines: parity and recall, on pages of hostile texts."""

import pytest
from doubles.faulty_engines import FaultyEngine, fuse_by
from samples.parity import look, make_bench

from assay.eval.cli.report_screen import print_report
from assay.eval.configs.engine_settings import read_engine
from assay.eval.report.renderers.frames import list_metrics, tabulate
from assay.eval.studies.stores.parity import study as parity
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.retrievers.base import AssayError
from assay.retrievers.engines.formulas import ReciprocalRanks
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

LISTS = ["dense", "keyword", "native", "ours"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def honest(cache):
    return look(cache)


@pytest.fixture(scope="module")
def lying(cache):
    return look(cache, wrap=lambda engine: FaultyEngine(engine, fuse_by(ReciprocalRanks(2, 0))))


def test_an_engine_that_lies_is_shown_with_examples(lying):
    assert lying.verdict == "different"
    assert len(lying.examples) == 3
    example = lying.examples[0]
    first = example.places[0]
    assert (example.verdict, example.rank, first.returned, first.expected) == ("different", 1, 1, 1)
    assert first.returned_score > 10 * first.expected_score
    assert 1 in (first.dense, first.keyword)


def test_what_is_found_of_an_engine_is_in_its_report(honest, lying, capsys):
    assert honest.verdict == "identical"
    assert honest.counts == {"identical": 8, "ties": 0, "different": 0}
    assert list(honest.measures) == LISTS
    told = parity.report(honest)
    assert told.verdict[0] == (
        "Identical: on all of 8 queries the engine returns what its formula makes of its two lists"
    )
    assert told.verdict[1] == "Formula: sum over both lists of 1 / (61 + rank), ranks from 0"
    assert told.verdict[2] == "Native hybrid, nDCG@10 beside our RRF: not shown (too few queries)"
    assert told.environment["command"] == ["assay", "parity", "qdrant-edge", "harbour"]
    frames = {key: tabulate(table) for key, table in told.tables.items()}
    assert "examples" not in frames
    assert list(frames["systems"].index) == [parity.NAMES[name] for name in honest.measures]
    native = honest.measures["native"]["nDCG@10"]
    assert frames["systems"].loc["native hybrid", "nDCG@10_low"] == native.low
    assert frames["differences"]["difference"].tolist() == [0, 0, 0]
    assert frames["verdicts"]["queries"].to_dict() == honest.counts
    told = parity.report(lying)
    assert told.verdict[0] == (
        "Different: 8 of 8 queries come back otherwise than by the stated formula"
    )
    assert any(name.startswith("examples/") for name in list_metrics(told))
    kept = list_metrics(told, without=("examples",))
    assert kept["verdicts/different/queries"] == 8
    assert not any(name.startswith("examples/") for name in kept)
    print_report(told)
    shown = capsys.readouterr().out
    for example in lying.examples:
        assert " ".join(example.text.split()) in " ".join(shown.split())
        for place in example.places:
            assert place.chunk in shown


def test_a_list_that_holds_a_text_twice_is_the_engines_fault(cache):
    def repeat(engine):
        search = engine.hybrid
        engine.hybrid = lambda text, vector, limit: [  # type: ignore[method-assign]
            *(found := search(text, vector, limit - 1)), found[-1],
        ]  # fmt: skip
        return engine

    with pytest.raises(AssayError, match=r"edge: query q1: .* stands twice in the returned list"):
        look(cache, wrap=repeat)


def test_a_setting_that_no_approximate_index_heeds_is_refused(cache):
    configured = read_engine("qdrant-edge", ["exact=true"])
    variants = list_variants(configured, "ef", [1])
    with pytest.raises(AssayError, match=r"searches exactly whatever ef is; .*hnsw"):
        run_sweep(make_bench(), "ef", variants, "", Resources(Cache(cache)))
