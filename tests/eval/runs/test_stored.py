"""Stored runs: damaged or half made ones are told, a full disk leaves nothing, long ones fit."""

import errno
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from samples import report
from samples.planned_runs import make_collection, make_run

from assay import load_runs
from assay.eval.collections.check import check_judged
from assay.eval.report.run_page.page import write
from assay.eval.runs import stored_files
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.rows import encode_ranking, encode_row, read_ranking
from assay.eval.runs.stored import find, load
from assay.eval.runs.stored_files import StoredRankings
from assay.eval.runs.summary.exports import FILES, export
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import AssayError, Chunk, Hit, LegRank, Ranking, StageTrace
from assay.retrievers.store.files import write_atomically


def test_runs_that_cannot_be_read_are_passed_over(tmp_path, capsys):
    whole = make_run(tmp_path, "whole", [1, 2])
    damaged, empty, begun, foreign = (make_run(tmp_path, name, [1, 2]) for name in "abcd")
    rankings = damaged.folder / "rankings.jsonl"
    rankings.write_text(rankings.read_text().splitlines(keepends=True)[0])
    (empty.folder / "queries.jsonl").write_text("")
    (empty.folder / "gold.jsonl").write_text("")
    gold = foreign.folder / "gold.jsonl"
    gold.write_text(gold.read_text().replace('"q1"', '"q9"'))
    (begun.folder / MANIFEST).unlink()
    assert [result.id for result in load_runs(reports=tmp_path)] == [whole.manifest.id]
    told = capsys.readouterr().err
    assert f'passed over: {rankings}: damaged: no ranking of the query "q1"; make the run' in told
    assert f'passed over: {foreign.folder / "gold.jsonl"}: damaged: it judges "q9", which' in told
    assert f"passed over: {empty.folder}: a run of no queries" in told
    assert str(begun.folder) not in told


def test_where_several_runs_are_meant_the_line_says_how_to_choose(tmp_path):
    days = ("03", "09", "05", "01", "07", "08", "06")
    ids = [f"{name}-202611{day}-000000-abc" for name, day in zip("bmmmmmm", days, strict=True)]
    for id_ in ids:
        (tmp_path / id_).mkdir()
        (tmp_path / id_ / MANIFEST).touch()
    newest_first = ", ".join(ids[i] for i in (1, 5, 4, 6, 2))
    told = f"m: 6 runs in {tmp_path} begin so; give the id of one, the newest first: {newest_first}"
    with pytest.raises(AssayError, match=re.escape(f"{told} and 1 more") + "$"):
        find(tmp_path, "m")
    with pytest.raises(AssayError, match=re.escape(f"the newest first: {newest_first} and 2 more")):
        find(tmp_path, "none-such")
    assert find(tmp_path, "m-20261109") == tmp_path / ids[1]
    assert find(tmp_path, "b") == tmp_path / ids[0]


def test_what_cannot_be_measured_is_refused():
    collection = make_collection(3)
    check_judged(collection)
    with pytest.raises(AssayError, match=r"planned: no query is judged.*assay init FOLDER"):
        check_judged(replace(collection, queries=(), gold={}))
    with pytest.raises(AssayError, match=r"planned: none of its 3 judged queries.*no_answer"):
        check_judged(make_collection(3, grade=0))
    check_judged(make_collection(3, grade=0, types=["no_answer"]))


class FullFile(io.BytesIO):
    """Takes three bytes, and finds no place for the others."""

    def write(self, content, /):
        if self.tell():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(memoryview(content)[:3])


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    opened = Path.open

    def open_full(path, mode="r", *others, **options):
        return FullFile() if mode == "ab" else opened(path, mode, *others, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_full)
        with pytest.raises(
            AssayError, match=r"placements\.jsonl: cannot be written: No space left on device"
        ):
            make_run(tmp_path, "full", [1, 2])
    (folder,) = tmp_path.glob("full-*")
    assert not (folder / MANIFEST).exists()
    # With some room again, the same run goes on in the same folder.
    assert make_run(tmp_path, "full", [1, 2]).folder == folder

    def fail(path, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "file").write_text("old")
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(AssayError, match="file: cannot be written: No space left on device"):
        write_atomically(tmp_path / "file", b"new")
    assert set(tmp_path.iterdir()) == before
    assert load(folder).queries


def test_rankings_that_are_not_kept_are_read_again(tmp_path, monkeypatch):
    folder = report.make_run(tmp_path).folder

    def tell():
        run = load(folder)
        summary = summarise(run)
        found = summary.scores, summary.attribution, summary.legs, summary.cost, summary.unjudged
        export(summary)
        files = [(folder / name).read_bytes() for name in FILES]
        assert isinstance(run.rankings, StoredRankings)
        return (*found, files, write(summary).read_bytes(), run.rankings.keeps_more)

    kept = tell()
    monkeypatch.setattr(stored_files, "KEPT", 2)
    read_again = tell()
    assert read_again[:-1] == kept[:-1]
    assert (kept[-1], read_again[-1]) == (True, False)


def test_a_ranking_that_was_changed_is_not_gone_on_with(tmp_path):
    folder = make_run(tmp_path, "run", [1, 2]).folder
    (folder / MANIFEST).unlink()
    rankings = folder / "rankings.jsonl"
    rankings.write_text(rankings.read_text().replace('"query":"q0"', '"query":"q1"'))
    with pytest.raises(AssayError, match="the ranking of query q1 was changed since it was stored"):
        make_run(tmp_path, "run", [1, 2])


def test_a_ranking_comes_back_as_it_was_stored():
    chunk = Chunk("d0", "d0", 0, 4, "text", "Title", ("Head",))
    hit = Hit(chunk, 0.5, {"dense": LegRank(3, 0.25), "keyword": LegRank(1, 7.0)})
    step = StageTrace("dense", "leg", 1.5, (("d0", 0.25),), "a note", {"retries": 1})
    ranking = Ranking((hit,), (step,), (), ("a fault",))
    row = json.loads(encode_row(encode_ranking("q", ranking)))
    assert read_ranking(row, {"d0": chunk}) == ranking
