"""Measures by name: every one ir-measures knows is computed, or refused in one line."""

import itertools
import json
import math
import shutil
import subprocess
import sys

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import generated, kinds, measures
from assay.eval.scoring.calculation import qrels, run
from assay.eval.scoring.join import JoinedHit
from assay.eval.scoring.kinds import show_name
from assay.eval.studies.gate.settings import GateSettings, MustNotBreak
from assay.retrievers.base import AssayError, Chunk

WRONG = (
    "", "@", "@5", "P@", "P@@5", "P@5@3", "P()@5@", "5", "P;R@5", "P@-1", "P@0", "P@1.5",
    "P@True", "P@None", "P@'5'", "P@9999999999999999999", "P@٣", "nDCG@0", "Success@0", "AP@0",
    "Hit@0", "R@0", "R@0tok", "R@tok", f"R@{'9' * 5000}tok", "Tokens", "Tokens@0", "Tokens@x",
    "Judged@0", "RR@0", "ERR@0", "Empty@5", "P(rel=0)@5", "P(rel=-1)@5", "P(rel=True)@5",
    "P(rel=9999999999)@5", "P(nothing=1)@5", "P(cutoff=0)", "P(**{})@5", "P(1)@5", "P\0@5",
    "Bpref(rel=0)", "IPrec@2.0", "IPrec@0.333", "IPrec@1", "SetF(beta=1e400)", "SetF(beta=-1.0)",
    "Compat(p=2.0)", "nDCG(dcg='exp')@5", "nDCG(gains={1:-1})@5", "nDCG(gains={1:'a'})@5",
    "nDCG(gains={1:10**9})@5", "nDCG(gains={1:2000000000})@5", "Accuracy", "Accuracy@5",
    "nDCG(dcg='exp-log2',gains={1:2})@5", "(" * 300 + "P" + ")" * 300, "P@5\nP@6", "ndcg@10",
    "Hits@5", "alpha_nDCG@10", "RBP(rel=1)",
)  # fmt: skip
VALUES = ("0", "1", "-1", "True", "0.5", "2.0", "'log2'", "{}")

# Judgments of every sort: none relevant, all relevant, nothing returned, nothing judged.
GRADES = {
    "plain": ([(0, True), (2, True), (0, False), (1, True)], [3]),
    "only relevant": ([(1, True)], []),
    "none found": ([(0, False), (0, True)], [1]),
    "nothing returned": ([], [1, 2]),
    "nothing relevant": ([(0, True)], [0]),
    "nothing judged above": ([(0, False)] * 3, [4]),
}


def make_query(name):
    """Return a ranking of the hits (grade, judged) in GRADES, and its gold with what it misses."""
    hits, missed = GRADES[name]
    ranking, gold = [], []
    for i, (grade, judged) in enumerate(hits):
        chunk = Chunk(f"c{i}", "d", i * 10, i * 10 + 10, "two words")
        item = GoldItem(name, f"d[{i}]", "d", i * 10, i * 10 + 10, grade)
        gold += [item] * judged
        ranking.append(JoinedHit(chunk, (item,) if grade else (), judged))
    gold += [GoldItem(name, f"m{i}", "d", 900, 910, grade) for i, grade in enumerate(missed)]
    return ranking, gold


QUERIES = {name: make_query(name) for name in GRADES}
JOINED = {name: ranking for name, (ranking, _) in QUERIES.items()}
GOLD = {name: gold for name, (_, gold) in QUERIES.items()}


def try_name(name):
    """Return "" where a measure is computed, else how it is refused."""
    try:
        (scores,) = measures.score([name], JOINED, GOLD).values()
    except AssayError as error:
        return str(error)
    assert scores.keys() == GOLD.keys()
    assert all(map(math.isfinite, scores.values()))
    return ""


def list_names():
    """Return every measure of ir-measures with every parameter of odd values."""
    names = list(WRONG)
    for stem, kind in ir_measures.measures.registry.items():
        names += [stem, *(f"{stem}@{value}" for value in VALUES)]
        for key, value in itertools.product(kind.SUPPORTED_PARAMS, VALUES):
            names += [f"{stem}({key}={value})", f"{stem}({key}={value})@5"]
    return names


def main():
    """Try every name, in a process of its own: an assertion in C would end this one."""
    for name in list_names():
        print(json.dumps(name), file=sys.stderr, flush=True)
        print(json.dumps([name, try_name(name)]))


def test_every_measure_is_computed_or_refused():
    code = "import test_measures; test_measures.main()"
    path = [sys.executable, "-W", "ignore", "-c", f"import sys; sys.path[0:0] = {sys.path}; {code}"]
    done = subprocess.run(path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = dict(map(json.loads, done.stdout.splitlines()))
    assert [name for name in WRONG if not told[name]] == []
    computed = [name for name, refusal in told.items() if not refusal]
    assert {"P@1", "RR@1", "nDCG(dcg='log2')@5", "IPrec@0.5", "ERR@1", "Judged"} <= set(computed)
    refusals = [refusal for refusal in told.values() if refusal]
    assert all(text.startswith("measures: ") and "\n" not in text for text in refusals)


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="PRAHitJudge@()=0123456789.,'tok{}: ", max_size=20))
def test_any_text_is_computed_or_refused(name):
    told = try_name(name)
    assert told == "" or told.startswith("measures: ")


@pytest.mark.parametrize(
    ("name", "shown", "standard"),
    [
        ("Hit@5", "Hit@5", "Success@5"),
        ("Success@5", "Hit@5", "Success@5"),
        ("Hit(rel=2)@5", "Hit(rel=2)@5", "Success(rel=2)@5"),
        ("RR@10", "MRR@10", "RR@10"),
        ("R@20", "Recall@20", "R@20"),
        ("R(rel=2)@20", "Recall(rel=2)@20", "R(rel=2)@20"),
        ("R@2000tok", "Recall@2000tok", ""),
        ("Precision@5", "P@5", "P@5"),
        ("P(rel=2, cutoff=5)", "P(rel=2)@5", "P(rel=2)@5"),
        ("RR", "MRR", "RR"),
        ("Rprec", "Rprec", "Rprec"),
        ("nDCG@10", "nDCG@10", "nDCG@10"),
        ("Tokens@10", "Tokens@10", ""),
        ("Empty", "Empty", ""),
    ],
)
def test_either_name_is_understood_and_one_is_shown(name, shown, standard):
    assert measures.check_names([name, shown, *filter(None, [standard])]) == [shown]
    assert measures.find(name).standard == measures.find(shown).standard == standard
    assert measures.score([name], JOINED, GOLD).keys() == {shown}
    if standard:
        assert repr(ir_measures.parse_measure(standard)) == standard
        assert show_name(standard) == shown


@given(st.text(alphabet="SuccessRecallHitMP@(=)10tok", max_size=12))
def test_a_stored_name_is_the_one_found(name):
    assert show_name(show_name(name)) == show_name(name)
    if not try_name(name):
        found = measures.find(name).name
        assert show_name(found) == found


def test_what_is_known_of_measures_and_their_names_in_a_list():
    text = "Success@5, nDCG(dcg='log2', judged_only=True)@10 ,R@2000tok"
    listed = ["Hit@5", "nDCG(judged_only=True)@10", "Recall@2000tok"]
    assert measures.split_names(text) == listed
    measure = measures.find("Recall@2000tok")
    assert measure.meaning == "gold items found in the first 2000 tokens"
    assert (measure.cutoff, measure.budget, measure.bounds) == (None, 2000, "rising")
    assert measures.find("AP").meaning.endswith("of all hits")
    assert measures.find("P(rel=2)@5").bounds == ""
    assert not measures.find("Tokens@10").is_ranked
    listed = (*kinds.LISTED, *generated.LISTED)
    assert [kind.name for kind in listed if not kind.meaning or kind.within == kinds.ANY] == []
    named = {kind.name for kind in listed}
    assert {"hit_nDCG", "infAP", "Recall", "AnswerEM"} <= named
    assert len(named) == len(listed) - 1, "Recall is computed in two ways"


@pytest.mark.parametrize("name", ["Theirs@5", "RRF@5", "R-first", "Recall@5", "Success rate", ""])
def test_a_name_that_is_none_of_theirs_is_shown_as_it_is(name):
    assert show_name(name) == name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ndcg@10", "did you mean nDCG@10?"),
        ("hit@5", "did you mean Hit@5?"),
        ("Sucess@5", "did you mean Success@5?"),
        ("Token@10", "did you mean Tokens@10?"),
        ("nDCG@0", "'nDCG@0': cutoff must be a whole number from 1 to 1000000, not 0"),
        ("P(rel=0)@5", "rel must be a whole number from 1 to 1000000, not 0"),
        ("R@0tok", "R@0tok: the number after @ must be from 1 to 1000000, not 0"),
        ("IPrec@0.333", "recall must be a number from 0.0 to 1.0 with at most two decimals"),
        ("Accuracy", "'Accuracy': ir-measures cannot compute it of every ranking (float division"),
        ("Colour@5", "allowed: what ir-measures names and supports, such as nDCG@10"),
    ],
)
def test_a_refusal_says_what_is_allowed(name, told):
    assert told in try_name(name)
    assert try_name(name).startswith("measures: ")


def test_options_of_one_measure_are_not_taken_for_those_of_another():
    names = ["nDCG@10", "nDCG(gains={1:9})@10", "nDCG(judged_only=True)@10", "P@5", "P(rel=2)@5"]
    together = measures.score(names, JOINED, GOLD)
    for name in names:
        assert together.items() >= measures.score([name], JOINED, GOLD).items()
    assert len({tuple(scores.values()) for scores in together.values()}) == len(names)


@pytest.mark.skipif(not shutil.which("perl"), reason="gdeval is a Perl script")
@pytest.mark.parametrize("name", ["ERR@1", "ERR@3", "nDCG(dcg='exp-log2')@2", "ERR@10"])
def test_what_gdeval_computes(name):
    """It wants queries that are numbers, grades up to 4, and prints five decimals."""
    numbers = {query: str(i) for i, query in enumerate(JOINED, start=1)}
    grades = {numbers[query]: found for query, found in qrels(JOINED, GOLD).items()}
    rankings = {numbers[query]: found for query, found in run(JOINED).items()}
    rows = ir_measures.gdeval.iter_calc([ir_measures.parse_measure(name)], grades, rankings)
    theirs = {row.query_id: row.value for row in rows}
    for query, score in measures.score([name], JOINED, GOLD)[name].items():
        assert score == pytest.approx(theirs.get(numbers[query], 0.0), abs=1e-5), query


@pytest.mark.parametrize(("name", "highest"), [("ERR@10", 4), ("nDCG(dcg='exp-log2')@10", 16)])
def test_grades_that_are_too_high_are_refused(name, highest):
    item = GoldItem("q", "g", "d", 0, 10, highest + 1)
    with pytest.raises(AssayError, match=f"query q has a judgment of grade {highest + 1}"):
        measures.score([name], {"q": []}, {"q": [item]})


def test_the_gate_takes_either_name():
    held = GateSettings(
        measures={"RR@10": 0.02, "Recall@20": 0.03},
        must_not_break=MustNotBreak(measure="Success@5"),
    )
    assert held.measures == {"MRR@10": 0.02, "Recall@20": 0.03}
    assert held.scored == ["MRR@10", "Recall@20", "Hit@5"]
    with pytest.raises(ValueError, match="one measure stands twice among Hit@5, Success@5"):
        GateSettings(measures={"Hit@5": 0.02, "Success@5": 0.03})
