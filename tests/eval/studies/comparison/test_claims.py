"""The claim of a verdict: new questions on these documents, or documents like these."""

from dataclasses import replace

import numpy as np
import pytest
from samples.planned_runs import make_collection, make_run

from assay.eval.collections.groups import Group
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.groups import (
    estimate_grouped_difference,
    find_design_effect,
)
from assay.eval.statistics.significance import randomise
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.page import write

MEASURES = ("MRR@10", "Hit@1")
QUESTIONS = "for new questions on these documents"
DOCUMENTS = "on documents like these"


def share(run, size, documents, **more):
    """Return the run as of a collection where each `size` queries in a row share a document, of
    `documents` in all: the others' documents are copies of the first one's.
    """
    copies = {f"d{i}": f"d{i - i % size}" for i in range(len(run.queries)) if i % size}
    facts = {"copies": copies, "documents": documents + len(copies), **more}
    collection = run.manifest.collection.model_copy(update=facts)
    return replace(run, manifest=run.manifest.model_copy(update={"collection": collection}))


def make(folder, size, documents, ranks, **more):
    """Compare a run whose gold passages stand at `ranks` with one that has all at rank 2."""
    made = {"base": [2] * len(ranks), "other": ranks}
    runs = [
        share(make_run(folder, name, each), size, documents, **more) for name, each in made.items()
    ]
    return compare(runs, MEASURES)


def lose_whole_documents(documents, size):
    """Return ranks of which two thirds of the documents gain throughout, and the others lose."""
    return [1 if i % 3 else 0 for i in range(documents) for _ in range(size)]


def find_differences(compared):
    scores = compared.pairs[0].scores("MRR@10").values()
    return np.array([other - base for base, other in scores])


def test_all_documents_are_touched_so_the_verdict_is_on_new_questions(tmp_path):
    compared = make(tmp_path, 4, 30, lose_whole_documents(30, 4))
    (pair,), claims = compared.pairs, compared.claims
    assert (claims.leading, claims.count, claims.effective, claims.touched) == (
        "questions", 30, 30.0, 1.0,
    )  # fmt: skip
    differences, groups = find_differences(compared), np.repeat(np.arange(30), 4)
    assert pair.headline.p == pytest.approx(randomise(differences.tolist()), abs=0.01)
    assert pair.opposite.p == pytest.approx(
        randomise(np.bincount(groups, differences).tolist()), abs=0.01
    )
    assert pair.design_effect == pytest.approx(find_design_effect(differences, groups))
    assert pair.effective_queries == pytest.approx(120 / pair.design_effect)
    assert f"other is better than base {QUESTIONS}: " in compared.verdict[0]


def test_where_the_claims_differ_the_other_is_said_too(tmp_path):
    compared = make(tmp_path, 10, 21, lose_whole_documents(21, 10))
    (pair,) = compared.pairs
    assert (pair.headline.shown, pair.opposite.shown) == (True, False)
    (told,) = compared.verdict
    assert "On documents like these that is not shown." in told
    count = f"{210 / pair.design_effect:.0f}"
    described = f", on 21 documents: they count as about {count} independent ones"
    assert compared.describe_questions() == described
    sampled = make(tmp_path, 10, 21, lose_whole_documents(21, 10), documents_are="sample")
    (told,) = sampled.verdict
    assert told.startswith(f"other and base could be equally good {DOCUMENTS}: ")
    assert "For new questions on these documents other is better than base." in told
    assert sampled.pairs[0].headline.p == compared.pairs[0].opposite.p
    claim, (other,) = (to_json(compared)[key] for key in ("claim", "others"))
    assert claim["sentence"].startswith("This holds for new questions on these documents; on ")
    facts = ("about", "groups", "effective_groups", "strength")
    assert [claim[key] for key in facts] == ["questions", 21, 21.0, "decides"]
    questions, documents = other["claims"]["questions"], other["claims"]["documents"]
    assert (questions["verdict"], documents["verdict"]) == ("better", "not shown (too few queries)")
    assert questions["p"] < 0.05 < documents["p"]
    assert other["design_effect"] == pytest.approx(pair.design_effect)


def test_of_a_sample_of_documents_the_verdict_is_on_documents_like_these(tmp_path):
    ranks = [1 if i % 10 else 4 for i in range(40) for _ in range(3)]
    compared = make(tmp_path, 3, 400, ranks)
    (pair,) = compared.pairs
    assert compared.claims.touched == pytest.approx(0.1)
    assert compared.verdict[0].startswith(f"other is better than base {DOCUMENTS}: ")
    assert "weak" not in compared.verdict[0]
    plain = make(tmp_path, 3, 40, ranks).pairs[0]
    assert pair.headline.p >= plain.headline.p
    assert pair.headline.difference.low <= plain.headline.difference.low
    assert pair.headline.difference.high >= plain.headline.difference.high
    groups = np.repeat(np.arange(40), 3)
    found = estimate_grouped_difference(
        find_differences(compared), groups, 1.0, (-1.0, 1.0), share=0.1
    )
    assert pair.headline.difference.low == pytest.approx(
        min(found.low, plain.headline.difference.low)
    )


def test_the_card_says_which_documents_a_verdict_is_on(tmp_path):
    ranks = lose_whole_documents(30, 4)
    assert make(tmp_path, 4, 300, ranks, documents_are="all").claims.leading == "questions"
    assert make(tmp_path, 4, 30, ranks, documents_are="sample").claims.leading == "documents"
    assert make(tmp_path, 4, 30, ranks, documents_are="sample").claims.sampling.share == 0
    assert make(tmp_path, 4, 60, ranks).claims.sampling.share == 0.5


def test_few_documents_are_weak_and_very_few_tell_nothing_of_others(tmp_path):
    gains = [1] * 40
    weak = make(tmp_path, 4, 100, gains)
    assert weak.claims.strength == "weak"
    assert weak.verdict[0].startswith(f"other is better than base {DOCUMENTS}: ")
    assert weak.verdict[0].endswith(
        "That is weak: the questions are on 10 documents; a firm answer takes 20."
    )
    few = make(tmp_path, 10, 100, gains)
    assert (few.claims.strength, few.claims.leading) == ("cannot tell", "questions")
    assert few.verdict == (
        "Cannot tell beyond these documents: 40 questions on 4 documents; it takes 6.",
        few.conclusions[0],
    )
    assert f"other is better than base {QUESTIONS}: " in few.verdict[1]
    assert "On documents like these that is not shown" in few.verdict[1]
    told = write(few, tmp_path).read_text(encoding="utf-8")
    assert "Cannot tell beyond these documents" in told
    everything = make(tmp_path, 10, 4, gains)
    assert everything.verdict[0].startswith("other is better")


def test_where_no_document_is_shared_both_claims_are_one(tmp_path):
    compared = make(tmp_path, 1, 400, lose_whole_documents(40, 1))
    assert compared.claims.single
    assert compared.claims.leading == "documents"
    assert compared.pairs[0].opposite == compared.pairs[0].headline
    assert compared.pairs[0].design_effect == 1.0
    assert compared.describe_questions() == ""


def test_declared_groups_are_called_groups(tmp_path):
    plain = make_collection(60)
    queries = tuple(replace(item, group=f"talk{i // 3}") for i, item in enumerate(plain.queries))
    talks = replace(plain, queries=queries)
    ranks = {"base": [2] * 60, "other": [1] * 60}
    runs = [make_run(tmp_path, name, each, collection=talks) for name, each in ranks.items()]
    compared = compare(runs, MEASURES)
    assert compared.claims.groups["q4"] == Group("declared", "talk1")
    assert compared.verdict[0].startswith("other is better than base on groups like these: ")
    assert compared.claims.sampling.share == 0


def test_all_pairs_say_which_of_them_the_other_claim_does_not_show(tmp_path):
    ranks = {"base": [2] * 210, "other": lose_whole_documents(21, 10), "best": [1] * 210}
    runs = [share(make_run(tmp_path, name, each), 10, 21) for name, each in ranks.items()]
    compared = compare(runs, MEASURES, all_pairs=True)
    assert compared.verdict[0].startswith(f"best is the best of 3 {QUESTIONS}: ")
    assert "On documents like these, base and other are not shown to differ." in compared.verdict


def test_uneven_documents_weigh_as_fewer():
    groups = {f"q{i}": Group("document", f"d{max(i - 40, 0)}") for i in range(60)}
    claims = Claims(groups, 1.0)
    assert claims.count == 20
    assert claims.effective == pytest.approx(60**2 / (41**2 + 19))
    assert claims.strength == "cannot tell"
    assert claims.describe() == "", "new questions on these documents are what is wanted"
