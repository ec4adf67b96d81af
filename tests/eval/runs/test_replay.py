"""Rankings made elsewhere, and the published figures they must give."""

import csv
import gzip
import json
import os
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytrec_eval import RelevanceEvaluator
from samples.planned_runs import make_collection

from assay.eval.cli.import_command import import_
from assay.eval.collections.loading import load
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.execution.replay import Replay, cover
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.run_files import read_run_file
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import AssayError, Quiet

PUBLISHED = Path(os.environ.get("ASSAY_DATA", ""), "anthropic_docs", "published_results")


def write(folder, text):
    path = folder / "run.txt"
    path.write_text(text)
    return path


def replay(path, system, reports):
    collection = load("anthropic_docs")
    replayed = Replay(read_run_file(path), system, collection)
    plan = RunSpec(system, {"imported": system}, 100, None, LatencySettings(queries=0))
    return execute(plan, replayed, collection, reports, Quiet()).run


@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs the shared sets: ASSAY_DATA")
def test_published_runs_have_their_published_mrr(tmp_path):
    """Level two in the mean, base query by query; the one without a list there scores 0 here.

    The lists published for level three are not those that its published figures were made from.
    """
    level_two = summarise(replay(PUBLISHED / "runs_top3.jsonl", "level_two", tmp_path), ("MRR@3",))
    published = json.loads((PUBLISHED / "evaluation_results_level_two.json").read_text())
    assert published["average_mrr"] == pytest.approx(0.7733, abs=5e-5)
    assert level_two.means["MRR@3"].value == pytest.approx(published["average_mrr"], abs=1e-9)
    base = summarise(replay(PUBLISHED / "runs_top3.jsonl", "base", tmp_path), ("MRR@3",))
    with (PUBLISHED / "evaluation_results_detailed_one.csv").open(newline="") as file:
        rows = {row["question"]: float(row["retrieval_mrr"]) for row in csv.DictReader(file)}
    unknown = [id_ for id_, ranking in base.run.rankings.items() if not ranking.hits]
    assert len(unknown) == 1
    for id_, query in base.run.queries.items():
        expected = 0.0 if id_ in unknown else rows[query.text]
        assert base.scores["MRR@3"][id_] == pytest.approx(expected)


def test_a_trec_run_is_ordered_by_score_then_by_rank_or_by_id_as_in_trec_eval(tmp_path):
    path = write(tmp_path, "q Q0 a 1 1.0 t\nq Q0 c 2 2.0 t\nq Q0 b 3 1.0 t\n")
    assert read_run_file(path).systems == {"t": {"q": ("c", "a", "b")}}
    # The last two differ only beyond the single precision that trec_eval reads scores in.
    hits = [("a", 1, 2.0), ("b", 2, 2.0), ("c", 3, 1.00000002), ("d", 4, 1.00000001)]
    trec = "".join(f"q Q0 {id_} {rank} {score} t\n" for id_, rank, score in hits)
    read = read_run_file(write(tmp_path, trec), "ids")
    assert read.systems == {"t": {"q": ("b", "a", "d", "c")}}
    assert not read.notes
    for first, *_ in hits:
        judged = {"q": {first: 1}}
        run = {"q": {id_: score for id_, _, score in hits}}
        theirs = RelevanceEvaluator(judged, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
        assert 1 / theirs == read.systems["t"]["q"].index(first) + 1


def make_lines(seed):
    """Return a run of two systems with equal scores, ranks that contradict, and mixed lines."""
    rng = random.Random(seed)
    lines = [
        f"q{query} Q0 d{i} {rng.randint(1, 9)} {rng.choice(['1', '.5', '-2e-3', '+7.25'])} t{tag}"
        for tag in range(2)
        for query in range(3)
        for i in rng.sample(range(20), 8)
    ]
    rng.shuffle(lines)
    return lines


@pytest.mark.parametrize("seed", range(5))
def test_however_words_are_parted_the_rankings_are_the_same(tmp_path, seed):
    lines = make_lines(seed)
    plain = read_run_file(write(tmp_path, "\n".join(lines)))
    scored = {}
    for i, (query, _, id_, rank, score, tag) in enumerate(map(str.split, lines)):
        scored.setdefault((tag, query), []).append((-float(score), int(rank), i, id_))
    for (tag, query), hits in scored.items():
        assert plain.systems[tag][query] == tuple(id_ for *_, id_ in sorted(hits))
    assert len(plain.notes) == 4
    others = ["  ".join, "\t".join, "\u3000".join, " \t".join]
    for join in others:
        text = "\ufeff" + "\r\n".join(join(line.split()) for line in lines)
        other = read_run_file(write(tmp_path, text))
        assert (other.systems, other.notes) == (plain.systems, plain.notes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("q Q0  1 1 t\n", ":1: not 6 columns but 5"),
        ("q Q0 a 1 1 t\n Q0 b 1 1 t\n", ":2: not 6 columns but 5"),
        ("q Q0 a 1 1 \n", ":1: not 6 columns but 5"),
        ("q Q0 a 0x1 1 t\n", ":1: the rank 0x1 is not a whole number"),
        ("q Q0 a 1.0 1 t\n", ":1: the rank 1.0 is not a whole number"),
        ("q Q0 a 1 0x1 t\n", ":1: the score 0x1 is not a number"),
        ("q Q0 a 1 1e999 t\n", ":1: the score 1e999 is not a finite number"),
        (f"q Q0 a {10**30} 1 t\n", ":1: the rank 1000"),
        ("q Q0 \x85 1 1 t\n", ":1: not 6 columns but 5"),
        ("\n \n\t\n\u3000", "empty"),
        ("", "empty"),
        ("q Q0 a 1 1.0\n", ":1: not 6 columns but 5; allowed: a TREC run"),
        ("\nq Q0 a 1 1,5 t\n", ":2: the score 1,5 is not a number"),
        ("q Q0 a first 1.5 t\n", ":1: the rank first is not a whole number"),
        ("q Q0 a 1 nan t\n", ":1: the score nan is not a finite number"),
        ("q Q0 a 1 1 t\nq Q0 a 2 2 t\n", ":2: a is ranked already by t for q"),
        ('{"query_id": "q"}\n', ":1: not a ranking"),
        ('{"query_id": "q", "ranking": "a"}\n', ":1: `ranking` is not a list of hits"),
        ('{"query_id": "q", "ranking": []}\n' * 2, ":2: query q has a ranking already"),
        ('{"q1": {"d1": 1}, "q1": {"d2": 1}}', 'the key "q1" stands twice'),
        (
            '{"query_id": "q1", "ranking": ["d1"], "ranking": ["d2"]}',
            'the key "ranking" stands twice',
        ),
        ('[{"query": "q1"}]', "item 1: not a ranking"),
        ('{"q1": 7}', "q1: `ranking` is not a list of hits"),
        ('{"q1": {"d1": "high"}}', "q1: d1: the score 'high' is not a finite number"),
        ("[1, 2", ":1: not a ranking"),
    ],
)
def test_what_is_no_run_is_refused_with_its_line(tmp_path, text, problem):
    path = write(tmp_path, text)
    with pytest.raises(AssayError, match=problem) as error:
        read_run_file(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("mark", [" ", "\t", "  "])
def test_columns_beyond_the_sixth_are_passed_over_as_by_trec_eval(tmp_path, mark):
    rows = [["q", "Q0", "a", "1", "1", "t", "x"], ["q", "Q0", "b", "2", "2", "t", "y", "z"]]
    mixed = [["q", "Q0", "c", "3", "3", "t"]]
    for lines in (rows[:1], rows, mixed + rows):
        path = write(tmp_path, "\n".join(map(mark.join, lines)))
        expected = tuple(row[2] for row in sorted(lines, key=lambda row: -int(row[4])))
        assert read_run_file(path).systems == {"t": {"q": expected}}


def test_rankings_must_be_of_the_collection(tmp_path):
    collection = load("harbourline")
    query, document = collection.queries[0].id, collection.documents[0].id
    for text, problem in (
        (
            "nobody Q0 a 1 1 t\n",
            f'of harbourline: there is no query "nobody"; the first one there is "{query}"',
        ),
        (
            f"{query} Q0 nowhere.md 1 1 t\n",
            f"nowhere.md is neither a passage nor a document .*; one there is {document}",
        ),
        (f"{query} Q0 {document.removesuffix('.md')} 1 1 t\n", rf"did you mean {document}\?"),
    ):
        with pytest.raises(AssayError, match=problem):
            Replay(read_run_file(write(tmp_path, text)), "t", collection)
    known = Replay(
        read_run_file(write(tmp_path, f"{query} Q0 {document} 1 1 t\n")), "t", collection
    )
    hit = known.search(collection.queries[0].text, 10).hits[0]
    assert (hit.chunk.id, hit.chunk.text) == (document, collection.documents[0].text)
    assert not known.search(collection.queries[1].text, 10).hits


def test_hits_may_be_spans_and_texts(tmp_path):
    collection = load("harbourline")
    query, document = collection.queries[0], collection.documents[0]
    quote = next(line for line in document.text.splitlines() if len(line) > 60)
    start = document.text.index(quote)
    hits = [
        {"document": document.id, "text": quote, "score": 2},
        {"document": document.id, "start": start, "end": start + len(quote), "score": 1},
        {"document": document.id, "score": 0.5},
    ]
    row = json.dumps({"query_id": query.id, "ranking": hits, "system": "t"})
    replayed = Replay(read_run_file(write(tmp_path, row)), "t", collection)
    found = [hit.chunk for hit in replayed.search(query.text, 10).hits]
    assert [(chunk.start, chunk.text) for chunk in found] == [(start, quote), (0, document.text)]
    # A place that is named twice stands where it is named first.
    row = json.dumps({"query_id": query.id, "ranking": [hits[0], hits[2], hits[1]]})
    replayed = Replay(read_run_file(write(tmp_path, row)), "run", collection)
    assert [hit.chunk for hit in replayed.search(query.text, 10).hits] == found


def test_equal_scores_stand_by_rank_and_contradictions_are_told(tmp_path):
    constant = "".join(
        f"q{n} Q0 {id_} {r} 1.0 t\n" for n in (1, 2) for r, id_ in ((1, "a"), (2, "b"))
    )
    read = read_run_file(write(tmp_path, constant))
    assert read.systems == {"t": {"q1": ("a", "b"), "q2": ("a", "b")}}
    assert [note.partition(": ")[2] for note in read.notes] == [
        "t: in 2 of 2 queries (first: q1) scores are equal; there the ranks decide, then the "
        "lines, where trec_eval goes by id (--ties ids)"
    ]
    read = read_run_file(write(tmp_path, "q Q0 a 1 1 t\nq Q0 b 2 2 t\n"))
    assert read.systems == {"t": {"q": ("b", "a")}}
    assert (
        "t: in 1 of 1 queries (first: q) ranks contradict scores; the scores decide, as in"
        in read.notes[0]
    )


def test_a_packed_run_and_odd_line_ends_are_read(tmp_path):
    packed = tmp_path / "run.trec.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfq Q0 a 1 2 t\r\n\r\nq Q0 b 2 1 t\r\n"))
    assert read_run_file(packed).systems == {"t": {"q": ("a", "b")}}
    # JSON may hold what Python takes for an end of a line.
    row = {"query_id": "q", "ranking": [{"document": "a", "text": "one\u2028two"}]}
    text = json.dumps(row, ensure_ascii=False)
    read = read_run_file(write(tmp_path, text))
    assert list(read.systems.values()) == [{"q": (("a", "one\u2028two"),)}]


def test_half_a_run_is_refused_scored_or_cut_down(tmp_path):
    collection = make_collection(4)
    file = read_run_file(write(tmp_path, "q0 Q0 d0 1 1 t\nq2 Q0 d2 1 1 t\nx Q0 d0 1 1 t\n"))
    with pytest.raises(
        AssayError, match=r"2 of the 4 queries of planned .* first q1 .*; .*--missing"
    ):
        cover(file, "t", collection, "fail")
    whole, notes = cover(file, "t", collection, "zero")
    assert whole == collection
    assert [note.partition(": t: ")[2] for note in notes] == [
        "1 of its 3 queries are not judged in planned and are passed over: there is no query "
        '"x"; the first one there is "q0"',
        "2 of the 4 queries of planned have no ranking and score 0",
    ]
    half, notes = cover(file, "t", collection, "drop")
    assert [query.id for query in half.queries] == list(half.gold) == ["q0", "q2"]
    assert "left out" in notes[1]
    assert half.digest != collection.digest


def test_the_command_says_what_it_cuts_and_judges_by_what_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    collection = load("harbourline")
    query, (one, two, *_) = collection.queries[0].id, collection.documents
    path = write(tmp_path, f"{query} Q0 {one.id} 1 2 t\n{query} Q0 {two.id} 2 1 t\n")
    arguments = [str(path), "--dataset", "harbourline", "--missing", "drop", "--json"]
    done = CliRunner().invoke(import_, [*arguments, "--no-track"])
    assert "are cut" not in done.stderr
    cut = ["--depth", "1", "--no-report", "--measures", "Success@1,P@1"]
    done = CliRunner().invoke(import_, [*arguments, *cut])
    assert done.exit_code == 0, done.output
    assert "t: 1 of its 1 rankings are cut to their first 1 hits, of up to 2" in done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert list(run["measures"]) == ["Hit@1", "P@1"]
    assert (run["report"], run["mlflow_run"]) == (None, None)
    assert not list((tmp_path / "reports").glob(f"{run['run']}/report.html"))
    for again, same in (([], True), (["--rerun"], False)):
        done = CliRunner().invoke(import_, [*arguments, *cut, *again])
        assert (json.loads(done.stdout)["runs"][0]["run"] == run["run"]) is same


def test_steps_become_the_trace_and_a_wrong_one_is_refused(tmp_path):
    steps = [
        {"name": "rewrite", "kind": "query", "milliseconds": 1.5},
        {"name": "bm25", "kind": "leg", "ranking": ["d2", {"doc_id": "d0"}]},
        {"name": "rerank", "kind": "stage", "ranking": ["d0"], "milliseconds": 3},
    ]
    row = {"query_id": "q0", "system": "t", "ranking": ["d0"], "steps": steps}
    collection = make_collection(3)
    file = read_run_file(write(tmp_path, json.dumps(row)))
    ranking = Replay(file, "t", collection).search("question 0", 10)
    assert [(i.name, i.kind, i.milliseconds, i.candidates) for i in ranking.trace] == [
        ("rewrite", "query", 1.5, ()),
        ("bm25", "leg", 0, (("d2", 1), ("d0", 1 / 2))),
        ("rerank", "stage", 3, (("d0", 1),)),
    ]
    assert [hit.chunk.id for hit in ranking.hits] == ["d0"]
    assert [chunk.id for chunk in ranking.others] == ["d2"]
    for wrong in ({"kind": "leg"}, {"name": "x", "kind": "rerank"}, 5, {"name": 1, "kind": "leg"}):
        with pytest.raises(AssayError, match=r"run.txt:1: query q0: `steps` are .* one of query"):
            read_run_file(write(tmp_path, json.dumps({**row, "steps": [wrong]})))
