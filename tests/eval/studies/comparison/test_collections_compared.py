"""Two pipelines on several collections, and what they let foresee of one more."""

import os

import pytest
from click.testing import CliRunner

from assay import compare
from assay.eval.api.studies import find
from assay.eval.cli.study_command import make_command
from assay.eval.collections.traits import measure_traits, share_words
from assay.eval.studies.comparison.study import STUDY
from assay.retrievers.base import AssayError

REAL = (
    "anthropic_codebase",
    "anthropic_docs",
    "cranfield",
    "dccode_t42",
    "harbourline",
    "legalbench_contractnli",
    "scifact",
    "tarnwick",
)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))


def make_collection(name, right, size=24, words=6):
    """Return a collection of questions of one word where `right`, else of two."""
    texts = {f"d{i}": " ".join([f"topic{i}", *["filler"] * words]) for i in range(size)}
    return {
        "name": name,
        "documents": texts,
        "queries": {f"q{i}": f"topic{i}{'' if right else ' sought'}" for i in range(size)},
        "judgments": {f"q{i}": {f"d{i}": 1} for i in range(size)},
    }


def find_first(query, k):
    """Find the document that is numbered as the question is."""
    return [(query.split()[0].replace("topic", "d"), 1.0)]


def misjudge(query, k):
    """Find what `find_first` does only for questions of two words."""
    return find_first(query, k) if " " in query else []


def compare_on(*collections):
    return compare(misjudge, find_first, dataset=collections, measures=["Hit@5", "Hit@1"])


def find_much(query, k):
    """Find three documents where `find_first` finds one."""
    first, *_ = find_first(query, k)[0]
    return [first, *(id_ for id_ in ("d0", "d1", "d2") if id_ != first)]


def test_unequal_amounts_of_text_come_first():
    made = [make_collection(name, True) for name in "abcde"]
    told = compare(find_first, find_much, dataset=made).verdict.splitlines()
    for line, name in zip(told[:3], "abc", strict=True):
        assert line.startswith(f"{name}: Unequal amounts of text: the first 10 hits hold 2")
        assert line.endswith("tokens is 1.000 (find_much) and 1.000 (find_first).")
    assert told[3] == "Unequal amounts of text on 2 more collections, too."
    assert told[4].startswith("No proven difference")

    def find_again(query, k):
        return find_first(query, k)

    same = compare(find_first, find_again, dataset=made[:3])
    assert "Unequal" not in same.verdict
    assert same.verdict.startswith("No proven difference between find_again and find_first")
    assert "On none of them alone is a difference shown." in same.verdict
    assert same.found.new.high >= same.found.combined.mean.high > 0


def test_a_new_collection_is_foreseen_from_three_on():
    made = [make_collection(name, True, words=i) for i, name in enumerate("abc", 5)]
    two, three = compare_on(*made[:2]), compare_on(*made)
    assert "Nothing can be foreseen of a new collection from 2: it takes 3." in two.verdict
    assert two.found.new is None
    assert three.found.combined.mean.value == pytest.approx(1.0)
    assert three.found.new.low <= 1.0
    assert list(three.tables["effects"].index) == ["a", "b", "c", "mean", "new collection"]
    assert three.json()["new_collection"]["n"] == 3
    assert "find_first is better than misjudge in the mean of 3 collections" in three.verdict
    assert "find_first is better on each of them." in two.verdict


def test_what_tells_collections_apart_is_said_as_a_guess(monkeypatch):
    def other_way(query, k):
        return [] if " " in query else find_first(query, k)

    def compare_sizes(*words):
        made = zip("abcd", (True, True, False, False), words, strict=True)
        made = [make_collection(name, right, words=size) for name, right, size in made]
        return compare(misjudge, other_way, dataset=made, measures=["Hit@5"]).verdict

    verdict = compare_sizes(5, 6, 90, 80)
    assert "other_way is better on a and b, and worse on c and d." in verdict
    assert "words of a document: 6 to 7 where it is better, 81 to 91 where" in verdict
    assert "That is a guess: by chance" in verdict
    place = "assay.eval.studies.comparison.collections.measure_traits"
    monkeypatch.setattr(place, lambda found: {"documents": float(len(found.documents))})
    assert "No feature of the collections explains it (documents)." in compare_sizes(5, 6, 5, 6)


def test_features_are_those_of_documents_and_questions():
    from assay.eval.collections.in_memory import make_collection as make

    texts = {"d": "def reset(meter):\n    return meter.zero()\nThe meter is set to zero."}
    made = make(texts, {"q": "how is the METER reset to nought"}, {"q": {"d": 1}})
    traits = measure_traits(made)
    assert traits["code"] == pytest.approx(2 / 3)
    assert traits["question_words"] == 7
    assert traits["document_words"] == 10
    assert traits["overlap"] == pytest.approx(2 / 3)  # meter and reset, of these and nought


@pytest.mark.parametrize(
    ("question", "answer", "share"),
    [
        ("Reset the meter", "the METER", 1 / 2),
        ("E17 in the log", "error e17", 1.0),
        ("what is it", "it is what", 1.0),
        ("is it on", "it is on", None),
        ("水表复位", "复位", 1 / 2),
    ],
)
def test_words_in_common_are_those_that_say_something(question, answer, share):
    assert share_words(question, answer) == share


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"runs": ["bm25"]}, "a comparison needs two runs or more"),
        ({"runs": ["bm25", "semantic", "hybrid"]}, "two pipelines are compared, not 3"),
        ({"runs": ["bm25", "some-run"]}, "some-run: a stored run is of one collection"),
    ],
)
def test_what_cannot_be_compared_on_several_is_one_line(given, line):
    with pytest.raises(AssayError, match=line):
        find(STUDY, {"dataset": ["harbourline", "tarnwick"], **given})
    with pytest.raises(AssayError, match="the collection a is given twice"):
        compare_on(make_collection("a", True), make_collection("a", True))


def test_the_command_shows_and_writes_it(tmp_path):
    datasets = [word for name in ("harbourline", "tarnwick") for word in ("--dataset", name)]
    words = ["bm25", "retriever.legs.keyword.k1=0.9", "limit=12", "latency.queries=0", *datasets]
    (tmp_path / "other.yaml").write_text("base: bm25\nname: other\ndepth: 20\n")
    done = CliRunner().invoke(make_command(STUDY), [*words, "other.yaml"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "on 2 collections" in done.stdout
    (page,) = tmp_path.glob("reports/compare-*-collections-*/report.html")
    assert {file.name for file in page.parent.iterdir()} == {
        "collections.json", "report.html", "report.md", "summary.json",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("ASSAY_DATA"), reason="ASSAY_DATA names no judged sets")
def test_the_interval_of_real_collections_holds_most_that_are_left_out():
    def make(name, **settings):
        leg = {"legs": {"keyword": settings}}
        return {"base": "bm25", "name": name, "latency": {"queries": 0}, "retriever": leg}

    held = foreseen = 0
    for other in (make("words", analyzer="words"), make("flat", b=0.1)):
        pair = make("stems", k1=1.2), other
        found = compare(*pair, dataset=REAL, limit=60, measures=["nDCG@10"]).found
        assert all(item.high - item.low < 0.5 for item in found.left_out)
        held, foreseen = held + found.held[0], foreseen + found.held[1]
    # The code of anthropic_codebase, which needs more than bare words, is what no other foresees.
    assert held >= 0.9 * foreseen
    assert foreseen == 2 * len(REAL)
