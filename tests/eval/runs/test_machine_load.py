"""Who works while queries are timed: beside processes that spin, and by recorded readings."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from samples.planned_runs import make_collection, make_run
from tools.busy_machine import spinning

from assay.eval.cli.run import print_summary
from assay.eval.report.run_page.page import write
from assay.eval.running import timing
from assay.eval.running.timing import System, find_timing
from assay.eval.runs import machine_load
from assay.eval.runs.json_form import to_json
from assay.eval.runs.latency import LatencySample, LatencySettings, measure
from assay.eval.runs.machine_load import LoadMeter, MachineLoad, Usage, read_usage
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import IndexReport, Quiet, Ranking, Retriever, StageTrace
from assay.retrievers.base.stopwatch import Stopwatch

QUIET = MachineLoad(cores=2, seconds=3, own=0.5, others=0.02, load_average=0.4)
BUSY = QUIET.model_copy(update={"others": 0.87})
UNKNOWN = QUIET.model_copy(update={"others": None})
TOLD = (
    "Times are unreliable, for the machine was busy: "
    "other processes used 87 % of the 2 cores while queries were timed"
)


class Pauses(Retriever):
    """Takes its time in two stages: one computes, the other waits."""

    def index(self, documents):
        return IndexReport(0)

    def search(self, query, k):
        watch = Stopwatch()
        end = time.process_time() + 0.005
        while time.process_time() < end:
            pass
        watch.stop("compute")
        time.sleep(0.02)
        watch.stop("wait")
        stages = (
            StageTrace(name, "stage", taken, cpu_milliseconds=watch.cpu[name])
            for name, taken in watch.wall.items()
        )
        return Ranking((), (*stages, StageTrace("untold", "stage", 0.1)))


@pytest.fixture(autouse=True)
def as_long_as_for_users(monkeypatch):
    """Other tests look for a shorter time, which tells nothing."""
    monkeypatch.setattr(machine_load, "SECONDS", 0.5)


def use_readings(monkeypatch, *readings):
    """Let the machine be observed as `readings` say."""
    following = iter(readings)
    monkeypatch.setattr(machine_load, "read_usage", lambda: next(following))
    monkeypatch.setattr(machine_load, "_wait", lambda seconds: None)


def cores(*idle):
    return {f"cpu{i}": seconds for i, seconds in enumerate(idle)}


def test_processes_that_spin_beside_the_timing_are_seen():
    with spinning():
        found = measure(Pauses(), [("q", "x")], 10, LatencySettings(), Quiet()).load
    assert found.is_busy()
    assert found.words.startswith("other processes used ")


SERVED = [
    Usage(0.3, 0, cores(0.25, 0.25)), Usage(9.3, 1, cores(0.25, 0.25)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asks_server", "readings", "others", "own", "seconds"),
    [
        # In a second, two cores were idle for 1.06 together; 0.9 was this process's: 0.04 remain.
        (False, [Usage(10, 5, cores(100, 200)), *[Usage(11, 5.9, cores(100.1, 200.96))] * 2],
         0.02, 0.45, 1),
        # A server that is asked: idle in the pauses before and after, both cores at work between.
        (True, [Usage(0, 0, cores(0, 0)), Usage(0.25, 0, cores(0.25, 0.25)), *SERVED,
                Usage(9.3, 1, cores(0.25, 0.25)), Usage(9.55, 1, cores(0.5, 0.4))],
         0.1, None, None),
        (False, SERVED, 17 / 18, None, None),
        # A short timing is followed by a look at the machine.
        (False, [Usage(0, 0, cores(0)), Usage(0.1, 0.1, cores(0)), Usage(0.5, 0.1, cores(0.39))],
         0.02, None, 0.1),
    ],
)  # fmt: skip
def test_others_use_what_is_neither_idle_nor_of_this_process_nor_of_its_server(
    monkeypatch, asks_server, readings, others, own, seconds
):
    use_readings(monkeypatch, *readings)
    found = LoadMeter(asks_server).end()
    assert found.others == pytest.approx(others)
    assert found.is_busy() == (others > 0.5)
    assert own is None or (found.own, found.cores) == (pytest.approx(own), 2)
    assert seconds is None or found.seconds == pytest.approx(seconds)


def test_the_work_of_children_is_own_work():
    spin = (
        "import sys, time\nwhile time.process_time() < 0.5: pass\n"
        "print(flush=True)\nsys.stdin.read()"
    )
    before, own = read_usage(), time.process_time()
    child = subprocess.Popen(
        [sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    running = read_usage()
    child.communicate()
    ended = read_usage()
    for after in (running, ended):
        assert after.own - before.own - (time.process_time() - own) > 0.4


def test_a_process_that_ends_while_it_is_read_is_left_out(monkeypatch, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "open(0).read()"], stdin=subprocess.PIPE)
    held = os.open(f"/proc/{child.pid}", os.O_RDONLY)  # its files are gone once it has ended
    child.communicate()
    (tmp_path / "7").symlink_to(f"/proc/self/fd/{held}")
    monkeypatch.setattr(machine_load, "PROCESSES", tmp_path)
    try:
        assert read_usage().own > 0
    finally:
        os.close(held)


def test_a_system_without_counters_says_that_it_does_not_know(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_load, "STAT", tmp_path / "stat")
    monkeypatch.setattr(machine_load, "PROCESSES", tmp_path)
    for asks_server in (True, False):
        begin = time.perf_counter()
        found = LoadMeter(asks_server).end()
        assert (
            time.perf_counter() - begin < machine_load.SECONDS / 2
        )  # there is nothing to wait for
        assert found.others is None
        assert not found.is_busy()


def test_cpu_time_is_measured_by_stage():
    found = measure(Pauses(), [("q", "x")], 10, LatencySettings(concurrency=1), Quiet())
    (sample,) = found.samples
    assert sample.cpu.keys() == {"total", "compute", "wait"}
    assert sample.milliseconds.keys() == {*sample.cpu, "untold"}
    assert sample.cpu["compute"] >= 5
    assert sample.cpu["wait"] < 10 < 20 <= sample.milliseconds["wait"]
    assert sample.cpu["total"] >= sample.cpu["compute"]
    assert found.load.seconds < 60


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, "mine", [1, 2, 0])


def summarise_timed(run, load_):
    """Return the figures of the run as if it had been timed on such a machine."""
    samples = (
        LatencySample("q0", {"total": 20.0, "words": 18.0, "ask": 1.0}, {"total": 4.0, "words": 3}),
        LatencySample("q1", {"total": 40.0, "words": 38.0, "ask": 1.0}, {"total": 5.0, "words": 4}),
    )
    manifest = run.manifest.model_copy(update={"load": load_})
    return summarise(replace(run, manifest=manifest, latency=samples))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (BUSY, TOLD),
        (QUIET, ""),
        (None, ""),
        (
            UNKNOWN,
            "Whether other processes were working is not known on this system; CPU time was 15 % "
            "of the time taken.",
        ),
    ],
)
def test_tables_say_that_others_worked_and_have_cpu_time(run, found, told, capsys):
    summary = summarise_timed(run, found)
    print_summary(summary, full=True)
    page = write(summary)
    shown = " ".join(capsys.readouterr().out.split())
    texts = (shown, page.read_text(), page.with_suffix(".md").read_text())
    for text in texts:
        assert told in text
        assert ("CPU" in text) == bool(told)
        assert ("the machine was busy" in text) == (found is BUSY)
    if found is BUSY:
        assert " total 30.0 " in shown
        assert re.search(r" words 28.0 .* 3.50 +2 ", shown)
        assert re.search(r" ask 1.00 .* – +2", shown)
        assert "| words | 28.0 (" in texts[2]
        assert "| 3.50 | 2 |" in texts[2]
    as_json = to_json(summary)
    assert as_json["load"] == (found and {**found.model_dump(), "disturbed": found is BUSY})
    assert as_json["cpu_ms"] == {"total": 4.5, "words": 3.5}


@pytest.fixture
def observe(monkeypatch):
    def use(found):
        monkeypatch.setattr(timing.LoadMeter, "end", lambda self: found)

    return use


def test_what_was_timed_is_kept_until_it_is_asked_for_again(run, tmp_path, observe):
    collection, path = make_collection(2), tmp_path / "timing.json"

    def find(*, rerun=False):
        queries, limits = list(collection.queries), LatencySettings(warm_up=0)
        systems = {"one": System(Pauses, 5), "two": System(Pauses, 5)}
        found = find_timing(path, systems, collection, limits, queries, Quiet(), 1, rerun)
        return found.load

    observe(BUSY)
    assert find() == BUSY
    observe(QUIET)
    assert find() == BUSY
    assert find(rerun=True) == QUIET
    observe(BUSY)
    assert find() == QUIET
