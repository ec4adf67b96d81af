"""The gate on files of rankings: the verdict of the whole gate, and of other evaluators' scores."""

import json
from dataclasses import replace

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run
from tools import command_line
from tools.project_files import write_rows

from assay.eval.collections.collection import GoldItem
from assay.eval.studies.gate.baseline import make
from assay.eval.studies.gate.rule import judge
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate_files.files import score_rankings
from assay.eval.studies.gate_files.judging import judge_files

RANKS = [1, 2, 4, 3, 1, 5, 2, 1, 9, 2] * 9
WORSE = [rank + 3 * (i % 2) for i, rank in enumerate(RANKS)]
SETTINGS = GateSettings(measures={"MRR@10": 0.02, "nDCG@10": 0.02, "Recall@20": 0.02, "AP": 0.02})
DOCUMENTS = [f"d{i}" for i in range(8)]
FEW = [1] * 13 + [3, 9] * 6


def share_documents(count):
    """Return a collection in which three queries each have their best answer in one document."""
    made = make_collection(count)
    gold = {}
    for i in range(count):
        graded = {i // 3 * 3: 2, i: 1}
        gold[f"q{i}"] = tuple(
            GoldItem(f"q{i}", f"d{j}", f"d{j}", 0, len(f"text number {j}"), grade)
            for j, grade in graded.items()
        )
    return replace(made, gold=gold)


def write_run(path, run):
    path.write_text(
        "".join(
            f"{query} Q0 {hit.chunk.doc_id} {rank} {-rank} s\n"
            for query, ranking in run.rankings.items()
            for rank, hit in enumerate(ranking.hits, start=1)
        )
    )
    return path


def write_qrels(path, gold):
    path.write_text(
        "".join(
            f"{q} 0 {item.doc_id} {item.grade}\n" for q, items in gold.items() for item in items
        )
    )
    return path


@pytest.fixture
def files(tmp_path):
    """Two files of rankings of single documents, the second worse, and their judgments."""
    collection = make_collection(len(RANKS))
    base, head = (
        make_run(tmp_path / "runs", "mine", ranks, collection=collection)
        for ranks in (RANKS, WORSE)
    )
    return (
        write_run(tmp_path / "head.trec", head),
        write_run(tmp_path / "base.trec", base),
        write_qrels(tmp_path / "qrels.txt", collection.gold),
    )


@pytest.fixture
def call(monkeypatch, capsys):
    """Return what calls `assay gate`, and returns its exit code and what it printed."""
    return lambda *words: command_line.call(monkeypatch, capsys, "gate", *map(str, words))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("ranks", [RANKS, WORSE])
def test_the_verdict_is_that_of_the_gate_on_stored_runs(tmp_path, ranks, shared):
    collection = (share_documents if shared else make_collection)(len(RANKS))
    base = make_run(tmp_path / "base", "mine", RANKS, collection=collection)
    head = make_run(tmp_path / "head", "mine", ranks, collection=collection)
    whole = judge(make(base, SETTINGS.scored), head, SETTINGS)
    found = judge_files(
        write_run(tmp_path / "head.trec", head),
        write_run(tmp_path / "base.trec", base),
        write_qrels(tmp_path / "qrels.txt", collection.gold),
        SETTINGS,
        foreseeing=True,
    )
    assert found.measures == whole.measures
    assert found.verdict == whole.verdict
    assert found.claims.sentence == whole.claims.sentence
    assert [item.query for item in found.losers] == [item.query for item in whole.losers]


RANKINGS = st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=8)
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1)


@given(st.lists(st.tuples(RANKINGS, GRADES), min_size=1, max_size=5))
def test_scores_are_those_of_ir_measures(pairs):
    rankings = {f"q{i}": hits for i, (hits, _) in enumerate(pairs)}
    judgments = {f"q{i}": grades for i, (_, grades) in enumerate(pairs)}
    names = {
        "nDCG@3": "nDCG@3",
        "MRR@5": "RR@5",
        "Recall@2": "R@2",
        "Hit@1": "Success@1",
        "AP": "AP",
    }
    names |= {"P@2": "P@2", "Rprec": "Rprec"}
    found = score_rankings({**rankings, "more": DOCUMENTS}, judgments, list(names))
    run = {q: {d: -i for i, d in enumerate(hits)} for q, hits in rankings.items() if hits}
    expected = {(q, name): 0.0 for q in judgments for name in names.values()}
    measures = list(map(ir_measures.parse_measure, names.values()))
    if run and any(grade > 0 for grades in judgments.values() for grade in grades.values()):
        for row in ir_measures.iter_calc(measures, judgments, run):
            expected[row.query_id, str(row.measure)] = row.value
        for (query, name), value in expected.items():
            ours = next(ours for ours, theirs in names.items() if theirs == name)
            assert found[query][ours] == pytest.approx(value, abs=1e-12)


def test_a_regression_ends_with_1_and_names_who_lost_in_other_forms_too(files, call, tmp_path):
    head, base, qrels = files
    status, shown = call(head, "--qrels", qrels, "--baseline", base)
    assert status == 1
    assert shown.startswith("Gate: Regression (head.trec) 90 queries")
    assert "Regression: nDCG@10 fell by" in shown
    assert "Queries that lost most" in shown
    told = json.loads(call(head, "--qrels", qrels, "--baseline", base, "--json")[1])
    assert told["verdict"] == "regression"
    assert told["losers"][0]["base"] > told["losers"][0]["head"]
    assert call(base, "--qrels", qrels, "--baseline", head)[0] == 0

    rows = [line.split() for line in qrels.read_text().splitlines()]
    table, listed, page = (tmp_path / name for name in ("test.tsv", "head.jsonl", "gate.md"))
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{g}" for q, _, d, g in rows)]
    table.write_text("\n".join(lines) + "\n")
    ranked = {}
    for line in head.read_text().splitlines():
        ranked.setdefault(line.split()[0], []).append(line.split()[2])
    write_rows(listed, [{"query_id": q, "ranking": hits} for q, hits in ranked.items()])
    words = (listed, "--qrels", table, "--baseline", base, "--markdown", page, "--json")
    assert json.loads(call(*words)[1])["measures"] == told["measures"]
    assert "Regression: nDCG@10 fell by" in page.read_text()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FEW, FEW, "Pass, but weak: with 25 questions {} would go unnoticed."),
        ([1] * 280 + [2] * 20, [1] * 280 + [2] * 20, "Pass: lost no more than 0.0"),
        (FEW, [1] * 6 + [4] * 7 + FEW[13:], "; with 25 questions {} may get no more than a warn"),
    ],
    ids=["few", "many", "warning"],
)
def test_few_queries_say_first_how_little_they_show(tmp_path, call, before, after, told):
    collection = make_collection(len(before))
    base, head = (
        write_run(tmp_path / f"{i}.trec", make_run(tmp_path, "x", ranks, collection=collection))
        for i, ranks in enumerate((before, after))
    )
    qrels = write_qrels(tmp_path / "qrels.txt", collection.gold)
    settings = tmp_path / "gate.yaml"
    settings.write_text("measures: {MRR@10: 0.05}\n")
    _, shown = call(head, "--qrels", qrels, "--baseline", base, "--settings", settings)
    assert told.format("a loss of up to a third") in " ".join(shown.split())
    assert shown.startswith("Gate: Pass, but weak (") == told.startswith("Pass, but weak")


def keep(test):
    return lambda text: "".join(line for line in text.splitlines(True) if test(line.split()))


def add(line):
    return lambda text: f"{text}{line}\n"


def write(line):
    return lambda _: line


def rename(column, make):
    def change(text):
        rows = [line.split() for line in text.splitlines()]
        for row in rows:
            row[column] = make(row[column])
        return "".join(" ".join(row) + "\n" for row in rows)

    return change


WITHOUT_Q1 = {"head": keep(lambda row: row[0] != "q1")}
PADDED = {"head": rename(0, lambda id_: f"q{id_[1:]:0>2}")}
SPAN = '{"query_id": "q0", "ranking": [{"document": "d0", "start": 0, "end": 3}]}\n'


def number(column):
    """Let two files have the numbers of ids, and the first the same with a decimal point."""
    bare = rename(column, lambda id_: id_[1:])
    return {"head": rename(column, lambda id_: f"{id_[1:]}.0"), "base": bare, "qrels": bare}


BAD = [
    (WITHOUT_Q1, "", "head.trec: no ranking for 1 judged query (first: q1); --missing zero"),
    (
        {"head": keep(lambda row: int(row[3]) <= 10)}, "",
        "head.trec: ranks 10 hits of a query, and Recall@20 looks at 20; allowed",
    ),
    ({"qrels": add("q0 0 d0 0")}, "", "qrels.txt:91: d0 is judged twice for q0, with the grades"),
    ({"head": add("q0 Q0 d9 1 1 other")}, "", "head.trec: has the systems s, other; give one a f"),
    (
        {"head": write("x1 Q0 d9 1 1 s\n")}, "",
        "head.trec: ranks no query that is judged: its first is x1, the first",
    ),
    (PADDED, "", 'head.trec: there is no judged query "q00" but "q0": the files differ by le'),
    (PADDED, "--missing zero", 'no judged query "q00" but "q0": the files differ by le'),
    (number(0), "", 'there is no judged query "0.0" but "0": one file has it as a number'),
    (
        {"head": rename(2, lambda id_: f"d{id_[1:]:0>2}")}, "",
        'there is no judged document "d00" but "d0": the files differ by leading',
    ),
    (number(2), "", 'there is no judged document "0.0" but "0": one file has it as a number'),
    (
        {"head": rename(2, lambda id_: f"page-{id_}")}, "",
        "head.trec: ranks no document that is judged: its first is page-d",
    ),
    ({"qrels": write("")}, "", "qrels.txt: empty; judgments are lines of query, iteration, docu"),
    ({"qrels": add("q0 d0 1")}, "", "qrels.txt:91: 3 columns; there must be 4"),
    ({"head": write(SPAN)}, "", "is no id of a document; only `assay import` judges spans and te"),
    ({}, "--documents 3", "--documents: 3, but the files name 90"),
    ({}, "--base main", "--base: not with --qrels"),
    ({}, "--junit x.xml", "--junit: not with --qrels"),
]  # fmt: skip


def damage(files, changes):
    for name, path in zip(("head", "base", "qrels"), files, strict=True):
        path.write_text(changes.get(name, str)(path.read_text()))


@pytest.mark.parametrize(("changes", "options", "told"), BAD)
def test_what_cannot_be_judged_is_refused_in_a_line(files, call, changes, options, told):
    damage(files, changes)
    head, base, qrels = files
    status, shown = call(head, "--qrels", qrels, "--baseline", base, *options.split())
    assert status == 2
    assert told in shown
    assert "Traceback" not in shown


def test_missing_rankings_score_0_where_that_is_asked_for(files, call):
    damage(files, WITHOUT_Q1)
    head, base, qrels = files
    _, shown = call(head, "--qrels", qrels, "--baseline", base, "--missing", "zero", "--full")
    assert "head.trec: 1 query without a ranking score 0" in " ".join(shown.split())


def test_what_is_missing_or_reads_texts_is_refused(files, call, tmp_path):
    head, base, qrels = files
    settings = tmp_path / "gate.yaml"
    settings.write_text("measures: {Recall@200tok: 0.02}\n")
    for words, told in (
        (("--qrels", qrels), "--baseline is missing"),
        (("--baseline", base), "--qrels is missing"),
        ((), "--qrels q.tsv --baseline b.trec"),
        (
            ("--qrels", qrels, "--baseline", base, "--settings", settings),
            "Recall@200tok: needs the text of the hits",
        ),
    ):
        status, shown = call(head, *words)
        assert status == 2
        assert told in " ".join(shown.split())


def test_options_of_recall_and_the_number_of_relevant_documents_need_no_ranking():
    judgments = {"q1": {"a": 2, "b": 1, "c": 0, "d": 2}, "q2": {"a": 1, "b": 0}}
    scores = score_rankings({"q1": ["b", "a"]}, judgments, ["Recall(rel=2)@2", "NumRel"])
    assert scores == {
        "q1": {"Recall(rel=2)@2": 0.5, "NumRel": 3},
        "q2": {"Recall(rel=2)@2": 0, "NumRel": 1},
    }
