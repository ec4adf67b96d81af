"""Answers from what runs return: asked over real HTTP, scored, compared and gated."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from doubles.language_model_server import (
    KEY,
    OUTPUT,
    LanguageModelServer,
    Say,
    Status,
)
from hypothesis import given
from hypothesis import strategies as st
from samples.small_project import QUERIES, write_project
from tools.project_files import declare_committed, read_rows, write_rows

from assay.eval.cli.main import assay
from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.generated import KINDS, ModelAnswer, ReferenceAnswer, score, split_tokens
from assay.eval.scoring.join import RetrievedChunk
from assay.eval.scoring.measures import find
from assay.eval.studies.answers.study import read_answer
from assay.retrievers.base import AssayError, Chunk

ASKED = ("--provider", "openai", "--model", "m", "--prices", "1,1,1,10", "--no-track")
UNANSWERED = {"q9": "word0 price"}


def react(call):
    """Answer what a passage says of the word that is asked for, and cite that passage."""
    text = "\n".join(call.texts)
    question = text.rpartition("Question: ")[2].strip()
    if "price" in question:
        return Say("No answer.")
    for number, passage in re.findall(
        r"^\[(\d+)\]\n(.*?)(?=^\[\d+\]|\nAnswer the)", text, re.M | re.S
    ):
        if question in passage:
            return Say(f"The {question} is here [{number}], [99].")
    return Say("NO ANSWER")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a run of `mine` and one of `worse`, which finds less."""
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    home = folder / "datasets" / "mine"
    rows = [
        {"_id": key, "text": text, "metadata": {"answer": [f"{text} is here", "nowhere"]}}
        for key, text in QUERIES.items()
    ]
    rows += [{"_id": key, "text": text} for key, text in UNANSWERED.items()]
    write_rows(home / "queries.jsonl", rows)
    row = {"query_id": "q9", "path": "q0.md", "start": 0, "end": 13, "grade": 0}
    write_rows(home / "gold.jsonl", [*read_rows(home / "gold.jsonl"), row])
    (folder / "worse.yaml").write_text(
        "base: mine.yaml\nname: worse\nretriever: {legs: {words: null, exact: {type: exact}}}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        for name in ("mine.yaml", "worse.yaml"):
            call("run", name, "--no-track")
    declare_committed(folder / "reports")
    return folder


@pytest.fixture
def server(project, tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    shutil.copytree(project, tmp_path / "project")
    enter(tmp_path / "project", monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LanguageModelServer(react) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        yield found


def enter(folder, patch):
    patch.chdir(folder)
    for name in ("cache", "reports"):
        patch.setenv(f"ASSAY_{name.upper()}", str(folder / name))


def call(*words):
    done = CliRunner().invoke(assay, words)
    assert done.exit_code == 0, done.output
    assert KEY not in done.output
    return done.stdout


def call_json(*words):
    return json.loads(call(*words, "--json"))


def fail(*words):
    """Return the one line that a command ends with."""
    done = CliRunner().invoke(assay, words)
    assert isinstance(done.exception, AssayError), done.output
    assert KEY not in str(done.exception)
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.mark.slow
def test_answers_are_kept_scored_compared_and_gated(server):
    count = len(QUERIES) + len(UNANSWERED)
    foretold = call_json("answer", "mine", *ASKED, "--dry-run")
    assert foretold["to_ask"] == count
    assert not server.calls
    found = call_json("answer", "mine", *ASKED)
    (run,) = found["runs"]
    assert len(server.calls) == count
    assert found["asked"]["run"]["calls"] == count
    means = {name: mean["value"] for name, mean in run["measures"].items()}
    answered = len(QUERIES)
    # Of “# About word0” the answer has word0. All six passages are in every context.
    differing = {
        "QuoteShare": (answered / 2 + 1) / count,
        "ContextP": answered / 6 / count,
        "ContextR": answered / count,
    }
    assert means == pytest.approx(dict.fromkeys(KINDS, 1.0) | differing)
    assert run["abstained"]["unanswered"]["value"] == 1
    assert run["abstained"]["answered"]["value"] == 0

    rows = read_rows(Path(run["file"]))
    assert [row["query"] for row in rows] == [*QUERIES, *UNANSWERED]
    first, last = rows[0], rows[-1]
    assert first["answer"] == "The word0 is here,."
    assert first["cited"] == [first["context"][0][0]]
    assert (last["answer"], last["abstained"], last["cited"]) == ("", True, [])
    assert first["output_tokens"] == OUTPUT
    assert first["usd"] == pytest.approx((first["prompt_tokens"] + 10 * OUTPUT) / 1e6)
    assert run["usd"] == pytest.approx(sum(row["usd"] for row in rows))
    assert run["usd"] == pytest.approx(found["asked"]["run"]["usd"])

    again = call_json("answer", "mine", *ASKED)
    assert again["runs"] == found["runs"]
    assert (again["asked"], len(server.calls)) == (None, count)
    assert "something answers them" in call("answer", "mine", *ASKED)

    folder = Path(run["file"]).parent
    page, markdown = ((folder / f"report.{kind}").read_text() for kind in ("html", "md"))
    for text in (page, markdown):
        assert f"{count} queries, answered by openai m" in text
        assert "tokens of a gold passage that stand in the answer" in text
    assert "The word0 is here,." in page
    assert '"no answer"' in page

    plain = call_json("compare", "mine", "worse", "--no-track")
    assert "AnswerF1" not in {item["measure"] for item in plain["others"][0]["differences"]}
    lacking = plain["others"][0]["run"]
    assert [line for line in plain["warnings"] if "answer" in line] == [
        f"answers are not compared: {lacking} has none; `assay answer {lacking}` makes them"
    ]
    named = call_json("compare", "mine", "worse", "--no-track", "--measures", "nDCG@10")
    assert not [line for line in named["warnings"] if "answer" in line]
    (worse,) = call_json("answer", "worse", *ASKED)["runs"]
    compared = call_json("compare", "mine", "worse", "--no-track")
    told = {item["measure"]: item for item in compared["others"][0]["differences"]}
    assert {"nDCG@10", "AnswerF1", "CitationP", "CitationR", "Abstention"} <= told.keys()
    for name, mean in worse["measures"].items():
        if name in told:
            difference = told[name]["difference"]
            assert difference["value"] == pytest.approx(mean["value"] - means[name])
            assert difference["low"] <= difference["value"] <= difference["high"]
    shown = Path(compared["report"]).read_text()
    assert "measures of answers (" in shown
    before = {item["measure"]: item for item in plain["others"][0]["differences"]}
    assert {name: told[name] for name in before} == before
    assert (compared["tests"], plain["tests_apart"]) == (plain["tests"], 0)
    assert compared["tests_apart"] == len(told) - len(before) == len(compared["apart"])
    both = call_json("compare", "mine", "worse", "--no-track", "--measures", "nDCG@10,AnswerF1")
    assert (both["tests"], both["apart"]) == (2, None)

    Path("gate.yaml").write_text("measures: {AnswerF1: 0.02, nDCG@10: 0.02}\n")
    gated = ("--settings", "gate.yaml", "--baselines", "baselines")
    call("baseline", "accept", run["run"], *gated)
    verdict = call_json("gate", "mine", *gated)
    assert {item["measure"] for item in verdict["measures"]} == {"AnswerF1", "nDCG@10"}
    assert verdict["verdict"] == "pass"  # it is the accepted run
    call("answer", "mine", *ASKED, "--context-tokens", "30")
    assert "was answered by openai m" in fail("gate", "mine", *gated)
    assert "are not compared" in fail(
        "compare", "mine", "worse", "--no-track", "--measures", "CitationR"
    )
    mixed = call_json("compare", "mine", "worse", "--no-track")
    assert any("are not compared" in line for line in mixed["warnings"])
    assert "AnswerF1" not in json.dumps(mixed["others"])


def test_a_sample_is_compared_on_what_both_answered(server):
    for name in ("mine", "worse"):
        (run,) = call_json("answer", name, *ASKED, "--limit", "3")["runs"]
        assert run["measures"]["Abstention"]["n"] == 3
    assert "AnswerF1" not in call("compare", "mine", "worse", "--no-track")
    named = ("compare", "mine", "worse", "--no-track", "--measures", "Abstention,Hit@1")
    found = call_json(*named)
    assert found["queries"] == 3
    assert any("and a model answered" in line for line in found["warnings"])


def test_documents_are_data_and_an_odd_answer_is_kept(server):
    call("answer", "mine", *ASKED)
    assert "replaced" not in CliRunner().invoke(assay, ("answer", "mine", *ASKED)).stderr
    server.react = lambda _: Say("\ud800 is here [1].")
    odd = ("answer", "mine", *ASKED[:3], "odd", *ASKED[4:])
    said = CliRunner().invoke(assay, odd).stderr
    assert re.search(r"replaced: .*answers\.jsonl had \d+ answers by openai m;", said)
    (run,) = call_json(*odd)["runs"]
    rows = read_rows(Path(run["file"]))
    assert {row["answer"] for row in rows} == {"? is here."}
    for sent in server.calls:
        text = "\n".join(sent.texts)
        assert re.match(r"<(passage-\w{12})>\n\[1\]\n.*\n</\1>\n\nWhat stands", text, re.S)
    few = ("answer", "mine", *ASKED, "--context-tokens", "1")
    assert "7 not answered: no passage to read" in call(*few)


def test_a_refused_key_is_a_line_and_refusals_are_told(server):
    server.react = lambda call: Status(401)
    assert "refuses OPENAI_API_KEY" in fail("answer", "mine", *ASKED[:3], "key", *ASKED[4:])
    assert not list(Path("reports").glob("*/answers.jsonl"))
    server.react = lambda call: Say("", "content_filter")
    (run,) = call_json("answer", "mine", *ASKED[:3], "other", *ASKED[4:])["runs"]
    assert run["endings"]["refusal"] == len(QUERIES) + len(UNANSWERED)
    assert run["measures"]["Abstention"]["value"] == pytest.approx(1 / 7)


def test_measures_of_answers_are_refused_where_there_are_none(server):
    assert "is of answers" in fail("run", "mine.yaml", "measures=[AnswerF1]", "--no-track")
    named = ("compare", "mine", "worse", "--no-track", "--measures")
    assert "has no answers; `assay answer mine-" in fail(*named, "CitationP")
    assert "did you mean CitationP" in fail(*named, "CitatonP")
    for path in Path("reports").glob("*/queries.jsonl"):
        path.write_text(path.read_text().replace('"answer"', '"other"'))
    for name in ("mine", "worse"):
        (run,) = call_json("answer", name, *ASKED)["runs"]
        assert not {"AnswerF1", "AnswerEM"} & run["measures"].keys()
        assert "CitationP" in run["measures"]
    assert "6 of 7 queries have no reference answer" in fail(*named, "AnswerEM")
    path = Path(run["file"])
    path.write_text('{"query": "q0"}\n')
    assert "not answers that this version reads" in fail(*named, "CitationP")
    (run,) = call_json("answer", "worse", *ASKED)["runs"]
    path.write_text(re.sub(r'"answer": "[^"]*"', '"answer": 3', path.read_text(), count=1))
    assert "answer: input should be a valid string" in fail(*named, "CitationP")


# What is scored, on answers and gold of any kind.

SPANS = st.tuples(st.integers(0, 40), st.integers(1, 20))
WORDS = st.text("abc .,!", max_size=12)


def chunks(spans):
    spans = [(begin, begin + size) for begin, size in spans]
    return [RetrievedChunk(Chunk(str(i), "d", *span, "")) for i, span in enumerate(spans)]


def items(spans):
    spans = [(begin, begin + size) for begin, size in spans]
    return [GoldItem("q", f"g{i}", "d", *span, 1) for i, span in enumerate(spans)]


def rate(name, answer, wanted):
    return score(name, {"q": answer}, {"q": wanted})["q"]


@given(WORDS, st.booleans(), st.lists(SPANS), st.lists(SPANS, max_size=4), st.lists(WORDS))
def test_scores_are_shares_and_saying_nothing_is_right_where_nothing_answers(
    text, abstained, shown, gold, texts
):
    context = chunks(shown)
    said, cited = ("", []) if abstained else (text, context[::2])
    answer = ModelAnswer(said, abstained, cited, context)
    wanted = ReferenceAnswer(items(gold), texts, [*texts, "a b"])
    for name in KINDS:
        assert 0 <= rate(name, answer, wanted) <= 1
        nothing = rate(name, answer, ReferenceAnswer([], [], []))
        assert nothing == float(not shown if name.startswith("Context") else abstained)
    if gold:
        every = ModelAnswer(text, False, chunks(gold), chunks(gold))
        for name in ("CitationP", "CitationR", "ContextP", "ContextR"):
            assert rate(name, every, wanted) == 1


@pytest.mark.parametrize(
    ("name", "said", "right", "expected"),
    [
        ("AnswerEM", "The Ferry, at noon!", "ferry at noon", 1),
        ("AnswerF1", "at noon", "the ferry sails at noon", 2 * 2 / (2 + 4)),
        ("QuoteShare", "at noon noon", "the ferry sails at noon", 2 / 4),
        ("AnswerF1", "30天", "可以借30天", 2 * 2 / (2 + 5)),
    ],
)
def test_tokens_are_compared_as_squad_does_and_without_blanks_by_character(
    name, said, right, expected
):
    wanted = ReferenceAnswer(items([(0, 5)]), [right], [right])
    assert rate(name, ModelAnswer(said, False, (), ()), wanted) == pytest.approx(expected)
    assert split_tokens("可以借30天") == ["可", "以", "借", "30", "天"]


@pytest.mark.parametrize(
    ("said", "text", "cited", "none"),
    [
        ("It sails [2].", "It sails.", [2], False),
        ("It sails [2][1, 2]; so [3; 9].", "It sails; so.", [2, 1, 3], False),
        ("It sails [1-3].", "It sails.", [1, 2, 3], False),
        ("It sails [2 – 3] and [1, 3].", "It sails and.", [2, 3, 1], False),
        ("It sails [3, 1-2] [2-99999999999].", "It sails.", [3, 1, 2], False),
        ("It sails [3-1] [0].", "It sails.", [], False),
        ("From [9 to 5] or [1-2-3].", "From [9 to 5] or [1-2-3].", [], False),
        ("NO ANSWER", "", [], True),
        ("**No answer.** [1]", "", [], True),
        ("No answer is better than [1].", "No answer is better than.", [1], False),
        ("NO ANSWER. The passages [1]\nsay nothing of it.", "", [], True),
        ("", "", [], True),
    ],
)
def test_an_answer_is_read(said, text, cited, none):
    assert read_answer(said, 3) == (text, cited, none)


def test_every_measure_of_answers_is_found_by_its_name():
    assert all(find(name).of_answers and find(name).meaning for name in KINDS)
    assert not find("nDCG@10").of_answers
