"""Processes that change one collection at once: each comes to what the other left."""

import csv
import io
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tools.processes import ASSAY
from tools.schedule import scheduled

from assay.eval.collections.authoring import author, worksheet
from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from assay.retrievers.store import locks
from assay.retrievers.store.locks import changing

ROUNDS, PROCESSES = 8, 4


@pytest.fixture
def target(tmp_path, monkeypatch):
    """A collection of one query, in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for number in range(ROUNDS * PROCESSES + 1):
        Path("docs", f"d{number}.md").write_text(f"# About {number}\n\nThe word{number} is here.\n")
    author.author(author.Origin(Path("docs")), ask(0), "mine", None, force=False)
    return Path("datasets/mine").absolute()


def ask(number):
    """Return a file with one question."""
    path = Path(f"questions{number}.csv")
    path.write_text(f"question,quote\nWhat is {number}?,The word{number} is here.\n")
    return path


def add(barrier, questions, target):
    barrier.wait()
    author.add(questions, target)


def check_whole(target, queries, judgments):
    """Check that nothing was lost, and that the card was sealed over all of it."""
    collection = load(str(target))
    assert (len(collection.queries), collection.judgments) == (queries, judgments)
    assert [str(found) for found in check(find_card(str(target)))] == []


@pytest.mark.parametrize("without_locks", [False, True])
def test_no_question_is_lost_in_any_order(target, *, without_locks):
    files, whole, lost = [ask(1), ask(2)], target.with_name("whole"), 0
    target.rename(whole)
    with scheduled(locks, without_locks=without_locks) as schedule:
        for seed in range(8):
            shutil.copytree(whole, target)
            try:
                schedule.run([partial(author.add, file, target) for file in files], seed)
                check_whole(target, 3, 3)
            except (AssertionError, AssayError):
                lost += 1
            shutil.rmtree(target)
    assert lost > 2 if without_locks else lost == 0


def call(*words):
    return subprocess.Popen(
        [sys.executable, ASSAY, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def write_table(query, number):
    """Write a table that judges one document for a query; return its path."""
    text = f"# About {number}\n\nThe word{number} is here.\n"
    pair = worksheet.Pair(query, "What is 0?", "", f"d{number}.md", "", 0, len(text), text)
    table = worksheet.render([pair], "mine").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    path = Path(f"table{number}.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerow(rows[0] | {"grade": "1"})
    return str(path)


def add_question(target):
    return ["init", "docs", "--name", "mine", "--add", "--questions", str(ask(2))]


def add_judgment(target):
    query = json.loads((target / author.QUERIES).read_text().partition("\n")[0])["_id"]
    return ["label", write_table(query, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("words", [add_question, add_judgment])
def test_who_comes_second_waits_says_so_and_adds_to_what_the_first_left(target, words):
    arguments = words(target)
    with changing(target):
        second = call(*arguments)
        said = second.stderr.readline()
        author.add(ask(1), target)
    _, errors = second.communicate()
    assert said == f"waiting for another process that changes {target}\n"
    assert second.returncode == 0, errors
    check_whole(target, 3 if words is add_question else 2, 3)
    assert sorted(path.name for path in target.iterdir()) == [
        "dataset.yaml", "judgments.jsonl", "pipeline.yaml", "queries.jsonl",
    ]  # fmt: skip


@pytest.mark.slow
def test_of_two_that_make_a_collection_the_second_is_refused(target):
    name = ["init", "docs", "--name", "new", "--questions", str(ask(1))]
    with changing(target.with_name("new")):
        both = [call(*name), call(*name)]
        for process in both:
            assert process.stderr.readline().startswith("waiting for")
    said = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    assert "is there already" in "".join(said)
