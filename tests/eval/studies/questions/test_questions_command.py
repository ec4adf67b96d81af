"""`assay questions` on small collections, against a server on this machine."""

import json
import re

import pytest
from doubles.language_model_server import KEY, LanguageModelServer, Say, Status
from samples.scripted_questions import write
from tools.command_line import check_error, invoke, read_json
from tools.own_cache import make_cache
from tools.project_files import read_rows, write_rows
from tools.recording_progress import RecordingProgress

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.eval.llm.session import make_session
from assay.eval.running.study_options import ModelOptions
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

PRICES = ("--prices", "1,1.25,0.1,5")
FILES = {
    "dataset.yaml", "judgments.jsonl", "pipeline.yaml", "queries.jsonl", "questions.json",
    "questions.md", "review.csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with this machine's models, in which embeddings are made once for all tests."""
    return make_cache(tmp_path_factory.mktemp("questions"))


@pytest.fixture
def server(cache, tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    monkeypatch.setenv("ASSAY_CACHE", str(cache))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    with LanguageModelServer(write) as server:
        # Another address is another model: no test finds the replies of one before.
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def make_folder(folder):
    """Write three documents, of which one links to another."""
    rules = "\n\n".join(
        f"## Rule {i}\n\nClause B-{i} says that tenant number {i} waters {what} from tap "
        f"{i * 7} in the evening, {after}."
        for i, what, after in (
            (1, "roses", "once the bell of the chapel has rung twice"),
            (2, "beans", "unless rain fell on the day before that"),
            (3, "apples", "after asking the warden of the lower field"),
        )
    )
    (folder / "my-docs").mkdir()
    (folder / "my-docs/rules.md").write_text(f"# Rules\n\n{rules}\n\nSee [fees](fees.md).\n")
    (folder / "my-docs/fees.md").write_text(
        "# Fees\n\nForm F-12 costs forty pounds and is due before the second Saturday of May.\n\n"
        "## Late\n\nWhoever pays after the end of June loses the plot to those who wait for it.\n"
    )
    (folder / "my-docs/short.md").write_text("# Short\n\nNothing.\n")
    return folder / "my-docs"


def call(documents, *arguments):
    given = ("--provider", "openai", "--model", "gpt-x")
    return invoke("questions", documents, *given, *arguments)


def succeed(documents, *arguments):
    return read_json(call(documents, *arguments, "--json"))


def test_a_folder_becomes_a_judged_collection(server, tmp_path):
    docs = make_folder(tmp_path)
    found = succeed(docs, "--number", "16", "--review", "0.3", *PRICES)
    folder = tmp_path / "datasets/my-docs-questions"
    assert {path.name for path in folder.iterdir()} == FILES
    assert found["card"] == str(folder / "dataset.yaml")
    card = find_card("my-docs-questions")
    assert [problem for problem in check(card) if problem.severity == "error"] == []
    collection = load("my-docs-questions")
    assert {each.id for each in collection.documents} == {path.name for path in docs.iterdir()}
    kept = found["asked"] - sum(found["dropped"].values())
    assert len(collection.queries) == found["kept"] == kept >= 8
    for query in collection.queries:
        gold = collection.gold[query.id]
        assert gold
        assert {item.grade for item in gold} == ({0} if query.type == "no_answer" else {3})
    for row in read_rows(folder / "judgments.jsonl"):
        assert re.fullmatch(r"model openai gpt-x, prompt [0-9a-f]{8}", row["judged_by"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["judged_on"])
        assert row["text"] == collection.texts[row["path"]][row["start"] : row["end"]]
    queries = read_rows(folder / "queries.jsonl")
    marked = {row["_id"] for row in queries if row["metadata"]["review"]}
    assert marked == set(found["review"])
    assert len(marked) == round(0.3 * found["kept"])
    told = [card.description, (folder / "questions.md").read_text()]
    for text in told:
        assert "a person had seen none of them" in text.replace("\\", "")
        assert "Keyword search alone has Hit@10" in text.replace("\\", "")
    advantage = found["bias"]["advantage"]
    assert bool(card.favours) == (not advantage["low"] <= 0 <= advantage["high"])
    assert found["bias"]["keyword"]["n"] == sum(
        query.type != "no_answer" for query in collection.queries
    )
    assert found["calls"]["run"]["calls"] == len(server.calls)
    assert KEY not in "".join(path.read_text() for path in folder.iterdir())
    labelled = invoke("label", folder / "review.csv").stdout
    assert "No new judgment" in labelled
    assert f"rows without a grade: {len(marked)}" in labelled


def test_the_same_call_gives_the_same_set_and_pays_for_nothing_twice(server, tmp_path, monkeypatch):
    docs = make_folder(tmp_path)
    first = succeed(docs, "--number", "8", "--output", "one", "--name", "one")
    made = len(server.calls)
    check_error(
        call(docs, "--number", "8", "--output", "one"), "one", "is there already", "--force"
    )
    monkeypatch.delenv("OPENAI_API_KEY")  # nothing is left to ask
    second = succeed(docs, "--number", "8", "--output", "two", "--name", "one")
    assert len(server.calls) == made
    for name in FILES - {"dataset.yaml", "pipeline.yaml", "questions.json", "review.csv"}:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert second["questions"] == first["questions"]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    more = succeed(docs, "--number", "10", "--output", "three")
    assert more["questions"][:8] == first["questions"]
    assert 0 < len(server.calls) - made <= 8
    other = succeed(docs, "--number", "8", "--seed", "1", "--output", "four")
    assert [row["passages"] for row in other["questions"]] != [
        row["passages"] for row in first["questions"]
    ]


def test_a_dry_run_needs_no_key_makes_no_call_and_names_what_suits_nothing(
    server, tmp_path, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY")
    docs = make_folder(tmp_path)
    (docs / "notes.rtf").write_text("x")
    one = ("--number", "1", "--dry-run", "--types", "definition,comparison,exact_id")
    shown = call(docs, *one).stdout
    assert "formats that are not read: 1 .rtf" in shown
    assert "prices: not known" in shown
    assert "no passage suits" not in shown
    (docs / "rules.md").unlink()
    (docs / "fees.md").write_text("All who pay after the end of June lose the plot to others then.")
    assert "no passage suits: comparison, exact_id\n" in call(docs, *one).stdout
    assert not server.calls
    assert not (tmp_path / "datasets").exists()


def test_faults_of_a_service_and_hostile_replies_cost_single_questions(server, tmp_path):
    odd = {
        "Rule 1": Say("", "content_filter"),
        "Rule 2": Say("I would rather chat."),
        "Late": Say(json.dumps({"question": "<script>|Who?", "quotes": []})),
    }

    def react(asked_for):
        text = "\n".join(asked_for.texts)
        if asked_for.number == 0:
            return Status(429, {"retry-after": "0"})
        if "Write one question" not in text:
            return write(asked_for)
        return next((say for about, say in odd.items() if about in text), None) or write(asked_for)

    server.react = react
    arguments = ("--number", "8", "--types", "factual", "--seed", "3")
    result = call(make_folder(tmp_path), *arguments)
    assert result.exception is None, result.exception
    for cause in ("no reply", "malformed", "quote not found"):
        assert re.search(rf"{cause} +1 ", result.stdout), result.stdout
    report = (tmp_path / "datasets/my-docs-questions/questions.md").read_text()
    assert "<script>" not in report
    assert "&lt;script&gt;" in report


def test_where_nothing_passes_nothing_is_written(server, tmp_path):
    server.react = lambda _: Say("no")
    result = call(make_folder(tmp_path), "--number", "3")
    assert result.exit_code == 2
    assert "no question passed the tests; nothing is written" in result.stdout
    assert not (tmp_path / "datasets").exists()


def test_collections_of_other_formats_become_plain_texts(server, tmp_path):
    folder = tmp_path / "abc"
    (folder / "qrels").mkdir(parents=True)
    rows = [
        {"_id": f"a/{i}", "title": f"Paper {i}", "text": f"{word} cells divide slowly in the "
         f"presence of {word.lower()} salts, as {i + 3} trials with mice have shown this year."}
        for i, word in enumerate(("Liver", "Bone", "Skin"))
    ]  # fmt: skip
    write_rows(folder / "corpus.jsonl", rows)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta/1\t1\n")
    succeed(folder, "--number", "3", "--types", "factual", "--output", "made")
    assert (tmp_path / "made/docs/a%2F0.txt").read_text().startswith("Paper 0\n\nLiver cells")
    assert len(load(str(tmp_path / "made")).queries) >= 2
    made = tmp_path / "made/dataset.yaml"
    made.write_text(made.read_text().replace("language: en", "language: sv"))
    native = succeed(tmp_path / "made", "--number", "2", "--types", "factual", "--output", "again")
    assert native["documents"] == 3
    card = find_card(str(tmp_path / "again"))
    assert (card.documents, card.language) == ("../made/docs", "sv")


def test_what_cannot_be_is_one_line(server, tmp_path):
    docs = make_folder(tmp_path)
    (tmp_path / "a-file").touch()
    for words, *told in (
        ("--types factual,fact", "--types", "'fact'", "allowed: factual"),
        ("--config semantic", "--config semantic", "needs a keyword leg"),
        ("--max-cost-usd 1", "prices are not known", "--prices"),
        ("--output a-file", "a-file", "cannot be written"),
        ("--output my-docs/made", "my-docs/made", "lies among the documents", "--output"),
        ("retriever.fusion.kk=1", "kk"),
    ):
        check_error(call(docs, *words.split()), *told)
    check_error(call(docs, "--name", "a b"), "a b/dataset.yaml", "name:", "not 'a b'")
    check_error(call("nowhere"), "nowhere: there is no such folder or file, nor a collection")
    (tmp_path / "bare").mkdir()
    check_error(call("bare"), "bare: holds no documents")
    (tmp_path / "bare/a.md").write_text("# Title\n")
    check_error(call("bare"), "no passage has 12 words or more")
    assert not server.calls


def test_where_replies_are_kept_a_missing_key_is_only_said(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    heard = RecordingProgress()
    resources = Resources(Cache(tmp_path), heard)
    given = ModelOptions(provider="openai")
    with pytest.raises(AssayError, match="OPENAI_API_KEY: not set"):
        make_session(given, "questions", 100, resources)
    assert heard.lines == []
    make_session(given, "questions", 100, resources, dry_run=True)
    (tmp_path / "questions-ledger").mkdir()
    (tmp_path / "questions-ledger/one.jsonl").touch()
    make_session(given, "questions", 100, resources)
    assert len(heard.lines) == 2
    assert all("OPENAI_API_KEY: not set" in line for line in heard.lines)
    assert all("only replies that are kept" in line for line in heard.lines)
