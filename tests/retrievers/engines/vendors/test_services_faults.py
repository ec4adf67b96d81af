"""Services that are busy, late, cut off or not there, and keys that they do not know."""

import json
import time
from contextlib import closing

import pytest
from tools.server_engines import one_line
from tools.vendor_engines import encode_all, search

from assay.retrievers.engines.conformance.sample import FEW, index
from assay.retrievers.engines.servers import collections as service_collections
from assay.retrievers.services.retries import count_retries


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_busy_service_is_asked_again_when_it_says(served, status):
    with closing(served.make()) as e, count_retries() as cost:
        served.misbehave(status, served.stored, times=1)
        index(e, FEW)
        assert cost.retries == 1
        expected = search(e)
        served.misbehave(status, served.searched, times=2)
        begin = time.perf_counter()
        assert search(e) == expected
        if status == "429" and served.name != "mongodb":
            assert time.perf_counter() - begin > 0.2  # twice as long as it asked for
        assert cost.retries == 3
        served.misbehave(status, served.searched, said="bu\nsy")
        before = served.count_asked(served.searched)
        problem = one_line(lambda: search(e))
        assert f"answered {status}: " in problem
        assert "bu sy (3 tries)" in problem
        assert served.count_asked(served.searched) == before + 3  # the client adds none


def test_an_answer_that_takes_too_long(served):
    with closing(served.make(timeout_seconds=0.3)) as e:
        index(e, FEW)
        expected = search(e)
        served.misbehave("late", served.searched, times=1)
        with count_retries() as cost:
            assert search(e) == expected
        assert cost.retries == 1
        served.misbehave("late", served.searched)
        assert "no answer within 0.3 s (3 tries)" in one_line(lambda: search(e))


def test_what_was_made_unheard_is_made_once(served):
    with closing(served.make(timeout_seconds=0.3)) as e, count_retries() as cost:
        served.misbehave("unheard", served.made, times=1)
        index(e, FEW)
        assert cost.retries == 1
        assert search(e)
    assert len(served.kept) == 1


def test_half_an_answer_is_none(served):
    with closing(served.make()) as e:
        index(e, FEW)
        expected = search(e)
        served.misbehave("half", served.searched, times=1)
        assert search(e) == expected
        served.misbehave("half", served.searched)
        assert "cannot be reached: " in one_line(lambda: search(e))


def test_garbage(served):
    with closing(served.make()) as e:
        index(e, FEW)
        served.misbehave("garbage", served.searched)
        assert "answered what no " in one_line(lambda: search(e))


def test_a_fresh_index_that_counts_too_few(served, monkeypatch):
    served.double.uncounted = 4
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.double.uncounted == 0
    # It lags again when it is found: that is waited for, and nothing is removed.
    served.double.uncounted = 2
    with closing(served.make()) as e:
        assert e.index(FEW, encode_all(FEW), "hashing").cached == ("engine",)
    assert len(served.kept) == 1
    served.double.uncounted = 10**9
    monkeypatch.setattr(service_collections, "INDEXING_SECONDS", 0.02)
    problem = one_line(lambda: index(served.make(), ("one", "two")))
    assert "1 of 2 texts are stored" in problem


def test_what_fails_half_way_leaves_nothing(served):
    served.misbehave("500", served.stored, said="disk is full")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "disk is full" in problem
    assert "tries" not in problem
    assert served.kept == set()
    served.behave()
    with closing(served.make()) as e:
        index(e, FEW)


def test_wrong_keys(served, monkeypatch):
    monkeypatch.setenv(served.key, "wrong-key")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "refuses the key (40" in problem
    assert f"set {served.key} to one that it knows" in problem
    assert "wrong-key" not in problem
    for value, reason in (("", f"set {served.key} "), ("two words", "is no key")):
        if not value and served.name == "elasticsearch":
            continue  # which may be asked without a key
        monkeypatch.setenv(served.key, value)
        problem = one_line(lambda: index(served.make(), FEW))
        assert problem.startswith(f"engine {served.name}: ")
        assert reason in problem
        assert "two words" not in problem


def test_the_key_is_never_shown(served):
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.secret not in json.dumps(dict(e.metadata()))
        served.misbehave("500", served.searched, said=f"no right for {served.secret} here")
        assert "no right for … here" in one_line(lambda: search(e))


def test_addresses_that_are_none(served, monkeypatch):
    for value in ("", "http://me:s3cret@host", "mongodb://me:s3cret@host", "host", "x://s3cret"):
        monkeypatch.setenv(served.address, value)
        problem = one_line(lambda: index(served.make(), FEW))
        assert problem.startswith(f"engine {served.name}: ")
        assert served.address in problem
        assert "s3cret" not in problem


def test_no_service(served, monkeypatch):
    scheme = "mongodb" if served.name == "mongodb" else "http"
    monkeypatch.setenv(served.address, f"{scheme}://127.0.0.1:9")
    problem = one_line(lambda: index(served.make(timeout_seconds=0.2), FEW))
    assert "127.0.0.1:9: cannot be reached: " in problem
    assert "(3 tries)" in problem
