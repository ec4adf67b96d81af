"""What is written beside a run is written again exactly where it would come out otherwise."""

from collections.abc import Callable
from pathlib import Path

import pytest
from samples.planned_runs import make_run

from assay.eval.report.run_page import page as report
from assay.eval.running import freshness
from assay.eval.running.run import export_summary, write_report


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The pages that were written, in order."""
    pages: list[Path] = []
    write = report.write

    def note(summary: report.Summary) -> Path:
        pages.append(page := write(summary))
        return page

    monkeypatch.setattr(report, "write", note)
    return pages


def append(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text("other", encoding="utf-8")


def test_what_stands_is_left(tmp_path: Path, written: list[Path]) -> None:
    run = make_run(tmp_path, "run", [1, 2, 0])
    first, page = write_report(run)
    second, same = write_report(run)
    assert written == [page]
    assert same == page
    assert dict(first.scores) == dict(second.scores)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "report.html").unlink(),
        lambda folder: (folder / freshness.WRITTEN).write_bytes(b'{"of"'),
        append("items.csv"),
        append("report.md"),
        append("answers.jsonl"),
    ],
    ids=["page lost", "record torn", "export changed", "report changed", "more to show"],
)
def test_what_does_not_stand_is_written(
    tmp_path: Path, written: list[Path], change: Callable[[Path], object]
) -> None:
    run = make_run(tmp_path, "run", [1, 2, 0])
    write_report(run)
    change(run.folder)
    write_report(run)
    assert len(written) == 2
    assert (run.folder / "items.csv").read_text() != "other"
    write_report(run)
    assert len(written) == 2


def test_exports_alone_stand_too(tmp_path: Path, written: list[Path]) -> None:
    run = make_run(tmp_path, "run", [1, 2, 0])
    export_summary(run)
    items = run.folder / "items.csv"
    times = [items.stat().st_mtime_ns]
    for again in (export_summary, write_report):
        again(run)
        times.append(items.stat().st_mtime_ns)
    assert len(set(times)) == 1
    assert len(written) == 1
    items.write_text("other")
    export_summary(run)
    assert items.read_text() != "other"


def test_other_measures_and_who_asks_for_it_have_it_written(
    tmp_path: Path, written: list[Path]
) -> None:
    run = make_run(tmp_path, "run", [1, 2, 0])
    write_report(run)
    write_report(run, ["nDCG@3"])
    write_report(run, ["nDCG@3"], rerun=True)
    assert len(written) == 3
