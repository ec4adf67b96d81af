"""`assay answer` as a process of its own, killed in the middle."""

import json
import os
import signal
import threading

import pytest
from doubles.language_model_server import KEY, Hang, LanguageModelServer, Say
from samples.scripted_judge import QUERIES, make_judged
from tools.own_cache import make_cache
from tools.processes import finish, start

ANSWERED = 2  # before the kill; all later calls hang


@pytest.mark.long
def test_a_killed_command_goes_on_and_pays_for_nothing_twice(tmp_path):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    run = make_judged(tmp_path / "reports")
    held = threading.Event()

    def react(call):
        if call.number < ANSWERED:
            return Say("It is so [1].")
        held.set()
        return Hang(30)

    with LanguageModelServer(react) as server:
        environment = {
            "ASSAY_REPORTS": str(tmp_path / "reports"),
            "ASSAY_CACHE": str(make_cache(tmp_path)),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": server.url,
        }
        words = ("answer", "judged", "--provider", "openai", "--concurrency", "1", "--json")
        process = start(*words, environment=environment)
        assert held.wait(120), finish(process).stderr
        os.kill(process.pid, signal.SIGKILL)
        finish(process)
        assert not (run.folder / "answers.jsonl").exists()
        server.react = lambda call: Say("It is so [1].")
        before = len(server.calls)
        done = finish(start(*words, environment=environment))
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert before == ANSWERED + 1
    assert len(server.calls) - before == QUERIES - ANSWERED
    assert found["asked"]["earlier"]["calls"] == before
    assert found["asked"]["earlier"]["lost"] == 1
    assert len((run.folder / "answers.jsonl").read_text().splitlines()) == QUERIES
