"""Commands that ask a language model, killed in the middle: nothing is paid for twice."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, Hang, LanguageModelServer, Say
from samples import scripted_judge
from samples.scripted_questions import write
from tools.own_cache import make_cache
from tools.processes import ROOT, finish, start
from tools.project_files import write_native

from assay.eval.collections.loading import load


@pytest.fixture
def places(tmp_path):
    return {
        "ASSAY_REPORTS": str(tmp_path / "reports"),
        "ASSAY_CACHE": str(make_cache(tmp_path)),
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": KEY,
    }


def kill_and_go_on(words, places, react, answered, threads):
    """Kill a command when so many calls are answered and all its threads wait; call it again.

    Return the second call, and how many calls the server got before and after.
    """
    held = threading.Event()

    def hang(call):
        if call.number < answered:
            return react(call)
        held.set()
        return Hang(600)  # longer than the second run takes, or its answers would count twice

    with LanguageModelServer(hang) as server:
        places = places | {"OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}
        words = (*words, "--concurrency", str(threads))
        process = start(*words, environment=places)
        assert held.wait(120), finish(process).stderr
        for _ in range(1000):  # until what was answered is kept
            ledgers = Path(places["ASSAY_CACHE"]).glob("*-ledger/*.jsonl")
            kept = "".join(path.read_text() for path in ledgers).count('"usage"')
            if (kept, len(server.calls)) == (answered, answered + threads):
                break
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        finish(process)
        before = len(server.calls)
        assert before == answered + threads
        server.react = react
        done = finish(start(*words, environment=places))
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    assert set(server.answered.values()) == {1}
    files = [path for path in Path(places["ASSAY_CACHE"]).parent.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    return done, before, len(server.calls) - before


CHUNKS = 12
CONTEXTS = ("--provider", "anthropic", "--prices", "1,1.25,0.1,5", "--max-cost-usd", "1")


@pytest.fixture
def law(tmp_path):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    parts = [f"## Part{number}\n\nText {number}.\n\n" for number in range(CHUNKS)]
    documents = {"law.md": "".join(parts)}
    return write_native(tmp_path / "law", documents, card="contexts: contexts.jsonl\n")


@pytest.mark.slow
def test_contexts(law, places):
    words = ("contexts", str(law), *CONTEXTS)
    done, _, after = kill_and_go_on(words, places, lambda _: None, 5, 2)
    assert after == CHUNKS - 5
    assert len((law / "contexts.jsonl").read_text().splitlines()) == CHUNKS
    assert "earlier: " in done.stdout
    assert "2 calls brought no answer and may have cost" in done.stdout  # those under way
    assert "budget: " in done.stdout


@pytest.mark.slow
def test_an_interrupted_run_waits_for_what_is_under_way(law, places):
    held = threading.Event()

    def react(call):
        if call.number < 5:
            return None
        held.set()
        return Hang(1)

    with LanguageModelServer(react) as server:
        places["ANTHROPIC_BASE_URL"] = server.url
        words = ("contexts", str(law), *CONTEXTS, "--concurrency", "2")
        process = start(*words, environment=places)
        assert held.wait(60), finish(process).stderr
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.returncode == 130
        assert "interrupted; what was finished is kept" in done.stderr
        assert len(server.calls) < CHUNKS
        server.react = lambda call: None
        verbose = {"ANTHROPIC_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}
        done = finish(start(*words, environment=places | verbose))
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == CHUNKS
        assert set(server.answered.values()) == {1}
        assert KEY in str(server.calls[0].headers)
    assert KEY not in done.stdout + done.stderr


@pytest.mark.long
def test_questions(tmp_path, places):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    made = tmp_path / "made"
    words = ("questions", str(ROOT / "examples/allotment"), "--provider", "openai")
    words = (*words, "--number", "6", "--output", str(made))
    kill_and_go_on(words, places, write, 7, 2)
    assert len(load(str(made)).queries) >= 4


@pytest.mark.long
def test_answers(tmp_path, places):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    run = scripted_judge.make_judged(tmp_path / "reports")
    words = ("answer", "judged", "--provider", "openai", "--json")
    done, before, after = kill_and_go_on(words, places, lambda _: Say("It is so [1]."), 2, 1)
    assert after == scripted_judge.QUERIES - 2
    earlier = json.loads(done.stdout)["asked"]["earlier"]
    assert (earlier["calls"], earlier["lost"]) == (before, 1)
    rows = (run.folder / "answers.jsonl").read_text().splitlines()
    assert len(rows) == scripted_judge.QUERIES


@pytest.mark.long
def test_judgments_of_ragas(tmp_path, places):
    pytest.importorskip("ragas", reason="needs the extra `ragas`")
    pytest.importorskip("openai", reason="needs the extra `openai`")
    scripted_judge.make_judged(tmp_path / "reports")
    words = ("ragas", "judged", "--provider", "openai", "--json")
    done, before, after = kill_and_go_on(words, places, scripted_judge.judge, 10, 2)
    calls = scripted_judge.QUERIES * sum(scripted_judge.CALLS.values())
    assert after == calls - 10
    found = json.loads(done.stdout)
    earlier = found["asked"]["earlier"]
    assert (earlier["calls"], earlier["lost"]) == (before, 2)
    means = {row["metric"]: row["mean"]["value"] for row in found["runs"][0]["metrics"]}
    for name, mean in scripted_judge.MEANS.items():
        assert means[name] == pytest.approx(mean)
