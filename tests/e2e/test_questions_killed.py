"""`assay questions` as a process of its own, killed in the middle."""

import os
import signal
import threading
import time

import pytest
from click.testing import CliRunner
from doubles.language_model_server import KEY, Hang, LanguageModelServer
from samples.scripted_questions import write
from tools.own_cache import make_cache
from tools.processes import ROOT, finish, start

from assay.eval.cli.main import assay
from assay.eval.collections.loading import load

ANSWERED = 7  # before the kill; all later calls hang


@pytest.mark.long
def test_a_killed_run_goes_on_and_pays_for_nothing_twice(tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    held = threading.Event()

    def react(call):
        if call.number < ANSWERED:
            return write(call)
        held.set()
        return Hang(30)

    cache, made = make_cache(tmp_path), tmp_path / "made"
    arguments = (
        "questions", str(ROOT / "examples/allotment"), "--provider", "openai", "--number", "6",
        "--concurrency", "2", "--output", str(made),
    )  # fmt: skip
    with LanguageModelServer(react) as server:
        environment = {
            "ASSAY_CACHE": str(cache),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        process = start(*arguments, environment=environment)
        assert held.wait(120), finish(process).stderr
        for _ in range(1000):  # until what was answered is kept, and both threads wait
            ledgers = (cache / "questions-ledger").glob("*.jsonl")
            kept = "".join(path.read_text() for path in ledgers).count('"usage"')
            if (kept, len(server.calls)) == (ANSWERED, ANSWERED + 2):
                break
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        finish(process)
        assert not made.exists()
        server.react = write
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        done = CliRunner().invoke(assay, arguments)
    assert done.exit_code == 0, done.exception
    assert set(server.answered.values()) == {1}
    assert len(load(str(made)).queries) >= 4
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)
