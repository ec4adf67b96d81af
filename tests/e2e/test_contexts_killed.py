"""`assay contexts` as a process of its own: killed in the middle, and with every log turned on."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, Hang, LanguageModelServer
from tools.own_cache import make_cache
from tools.processes import finish, start

pytestmark = pytest.mark.slow

CHUNKS = 12
ANSWERED = 5  # before the kill; all later calls hang
ARGUMENTS = ("--provider", "anthropic", "--prices", "1,1.25,0.1,5", "--max-cost-usd", "1")


@pytest.fixture
def folder(tmp_path):
    parts = [f"## Part{number}\n\nText {number}.\n\n" for number in range(CHUNKS)]
    documents = tmp_path / "law" / "docs"
    documents.mkdir(parents=True)
    (documents / "law.md").write_text("".join(parts))
    card = "name: law\ntitle: Law\nformat: native\ncontexts: contexts.jsonl\n"
    (tmp_path / "law" / "dataset.yaml").write_text(card)
    return tmp_path / "law"


@pytest.fixture
def environment(tmp_path):
    return {"ASSAY_CACHE": str(make_cache(tmp_path)), "ANTHROPIC_API_KEY": KEY}


@pytest.fixture
def server(environment):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    with LanguageModelServer() as server:
        environment["ANTHROPIC_BASE_URL"] = server.url
        yield server


def test_a_killed_run_goes_on_and_pays_for_nothing_twice(folder, environment, server):
    held = threading.Event()

    def react(call):
        if call.number < ANSWERED:
            return None
        held.set()
        return Hang(600)  # longer than the second run takes, or its answers would count twice

    server.react = react
    process = start("contexts", str(folder), *ARGUMENTS, environment=environment)
    assert held.wait(60), finish(process).stderr
    ledgers = Path(environment["ASSAY_CACHE"]) / "contexts-ledger"
    for _ in range(1000):  # until what was answered is kept
        rows = "".join(path.read_text() for path in ledgers.glob("*.jsonl"))
        if rows.count('"usage"') == ANSWERED:
            break
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    assert len(server.answered) == ANSWERED
    assert not (folder / "contexts.jsonl").exists()

    server.react = lambda call: None
    done = finish(start("contexts", str(folder), *ARGUMENTS, environment=environment))
    assert done.returncode == 0, done.stderr
    assert len(server.answered) == CHUNKS
    assert set(server.answered.values()) == {1}
    assert len((folder / "contexts.jsonl").read_text().splitlines()) == CHUNKS
    assert "earlier: " in done.stdout
    assert "calls brought no answer and may have cost" in done.stdout  # those that were under way
    assert "budget: " in done.stdout


def test_an_interrupted_run_waits_for_what_is_under_way(folder, environment, server):
    held = threading.Event()

    def react(call):
        if call.number < ANSWERED:
            return None
        held.set()
        return Hang(1)

    server.react = react
    arguments = ("contexts", str(folder), *ARGUMENTS, "--concurrency", "2")
    process = start(*arguments, environment=environment)
    assert held.wait(60), finish(process).stderr
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.returncode == 130
    assert "interrupted; what was finished is kept" in done.stderr
    made = len(server.calls)
    assert made < CHUNKS
    server.react = lambda call: None
    assert finish(start(*arguments, environment=environment)).returncode == 0
    assert len(server.calls) == CHUNKS
    assert set(server.answered.values()) == {1}


def test_the_key_is_in_no_output_and_no_file(folder, environment, server):
    verbose = {"ANTHROPIC_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}
    done = finish(start("contexts", str(folder), *ARGUMENTS, environment=environment | verbose))
    assert done.returncode == 0, done.stderr
    assert KEY in str(server.calls[0].headers)
    assert KEY not in done.stdout + done.stderr
    files = [path for path in folder.parent.rglob("*") if path.is_file()]
    assert any("contexts" in path.name for path in files)
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_a_missing_key_and_an_unknown_collection_are_one_line(folder, environment):
    for name, key, word in (
        (str(folder), "", "ANTHROPIC_API_KEY: not set"),
        ("nowhere", KEY, "nowhere"),
    ):
        done = finish(
            start(
                "contexts", name, *ARGUMENTS, environment=environment | {"ANTHROPIC_API_KEY": key}
            )
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1
        assert word in done.stderr
