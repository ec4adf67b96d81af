"""Documents read anew by a converter, and hits placed in the documents as they were given."""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.runs.execution.unstored import score_queries
from assay.retrievers.base import AssayError, Document
from assay.retrievers.documents.conversion.alignment import Alignment
from assay.retrievers.documents.conversion.conversion import ConversionError, Converter
from assay.retrievers.documents.conversion.converters import CommandSettings
from assay.retrievers.documents.conversion.folder import read_folder
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.settings import Resources

UPPER = "import sys; print('# ' + open(sys.argv[1]).read().upper())"
COPY = {"type": "command", "command": ["cat"]}
TEXT = "# Tolls\n\nA lorry pays nine marks.\n\n# Ferries\n\nA horse crosses free of charge.\n"


def command(script: Path, code: str, **keys: object) -> CommandSettings:
    script.write_text(code)
    words = [sys.executable, str(script), "{file}"]
    return CommandSettings.model_validate({"type": "command", "command": words, **keys})


def make_config(converter: object, **documents: object) -> PipelineConfig:
    return PipelineConfig.model_validate(
        {
            "name": "bm25",
            "documents": {"converter": converter, **documents},
            "retriever": {"legs": {"keyword": {"type": "bm25", "variant": "lucene"}}},
        }
    )


@pytest.fixture
def tolls(tmp_path: Path) -> Document:
    """A document, and the file that it was made of, as a converter that copies reads it."""
    page = tmp_path / "tolls.html"
    page.write_text(
        TEXT.replace("nine", "**nine**").replace("marks.", "marks.\n\nCookies crumble.")
    )
    return Document("tolls.html.md", TEXT, "Tolls", origin=str(page))


def test_a_command_converts_and_its_result_is_kept(resources: Resources, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("a page")
    script = tmp_path / "upper.py"
    with closing(Converter(resources.cache, command(script, UPPER))) as converter:
        first, again = converter.convert(page), converter.convert(page)
    assert (first.text, first.cached, again.cached) == ("# A PAGE", False, True)
    for changed in (
        command(script, UPPER, version="2"),
        command(tmp_path / "two.py", UPPER.replace("# ", "## ")),
    ):
        with closing(Converter(resources.cache, changed)) as converter:
            assert not converter.convert(page).cached
    other = command(script, UPPER, suffixes=[".pdf"])
    with closing(Converter(resources.cache, other)) as converter:
        assert converter.convert(page).text == "a page", "markitdown reads the others"


def test_a_command_reads_every_suffix_that_it_names(resources: Resources, tmp_path: Path) -> None:
    for name in ("a.adoc", "b.MD", "c.md", "d.org"):
        (tmp_path / name).write_text("a page")
    read = read_folder(tmp_path, resources, command(tmp_path / "upper", UPPER, suffixes=[".ADOC"]))
    assert {item.id: item.converted.text for item in read.documents} == {
        "a.adoc.md": "# A PAGE",
        "b.MD": "a page",
        "c.md": "a page",
    }
    assert [str(item) for item in read.skipped if item.path == "d.org"] == [
        "d.org: format .org is not read"
    ]
    own = command(tmp_path / "upper", UPPER, suffixes=[".md"])
    read = read_folder(tmp_path, resources, own)
    assert {item.id: item.converted.text for item in read.documents} == {
        "b.MD": "# A PAGE",
        "c.md": "# A PAGE",
    }
    assert not read.untouched


@pytest.mark.parametrize("suffix", ["", "mdx", ".", ".tar.gz", "*.mdx", "a.mdx", ". mdx"])
def test_what_is_no_suffix_is_refused(suffix: str) -> None:
    with pytest.raises(ValueError, match=f"'{re.escape(suffix)}' is no suffix; allowed: a dot"):
        CommandSettings(type="command", command=["cat"], suffixes=[".pdf", suffix])


def test_a_command_that_fails_is_told_and_asked_again(resources: Resources, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("a page")
    fails = "import os, sys; print(1) if 'MENDED' in os.environ else sys.exit('no licence')"
    with closing(Converter(resources.cache, command(tmp_path / "f.py", fails))) as converter:
        with pytest.raises(ConversionError, match="its converter ended with 1: no licence"):
            converter.convert(page)
        os.environ["MENDED"] = "1"
        try:
            assert converter.convert(page).text == "1"
        finally:
            del os.environ["MENDED"]
    slow = command(tmp_path / "slow.py", "import time; time.sleep(60)")
    with (
        closing(Converter(resources.cache, slow, seconds=0.2)) as converter,
        pytest.raises(ConversionError, match=r"takes more than 0\.2 s"),
    ):
        converter.convert(page)
    missing = CommandSettings(type="command", command=["no-such-program"])
    with pytest.raises(AssayError, match="there is no program no-such-program"):
        Converter(resources.cache, missing)


@pytest.mark.parametrize(
    ("text", "other", "span", "expected"),
    [
        ("same", "same", (1, 3), "am"),
        ("one TWO three", "a one, two and three", (0, 13), "one, two and three"),
        ("one gone two", "one two", (4, 8), ""),
        ("one four", f"one {'lost ' * 25}four", (0, 8), "one"),
        ("one two", "# One\n\ntwo!", (4, 7), "two"),
    ],
)
def test_spans_are_placed_by_words(
    text: str, other: str, span: tuple[int, int], expected: str
) -> None:
    start, end = Alignment(text, other).place(*span)
    assert other[start:end] == expected


def test_hits_lie_in_the_documents_as_given(resources: Resources, tolls: Document) -> None:
    config = make_config(COPY, chunker={"type": "sections"})
    with config.build(resources) as retriever:
        report = retriever.index([tolls])
        assert "convert" in report.seconds
        for query, place in (("lorry", "A lorry pays nine marks"), ("horse", "A horse crosses")):
            (hit,) = retriever.search(query, 1).hits
            assert place in hit.chunk.text
            assert hit.chunk.text == TEXT[hit.chunk.start : hit.chunk.end]
        assert retriever.search("cookies", 1).hits, "what the converter gave is searched"
        assert {chunk.doc_id for chunk in retriever.list_chunks()} == {tolls.id}
        assert not retriever.search("berths", 1).hits


def test_converters_are_an_axis(resources: Resources, tolls: Document, tmp_path: Path) -> None:
    deaf = command(tmp_path / "deaf.py", "print('Nothing of use')").model_dump()
    configs = [make_config(converter) for converter in (None, COPY, deaf)]
    found: list[Sequence[object]] = []
    facts = []
    with Variants(resources, configs) as variants:
        for config in configs:
            with variants.build(config) as retriever:
                retriever.index([tolls])
                found.append(retriever.search("horse", 1).hits)
                facts.append(retriever.metadata().get("conversion"))
    assert [len(hits) for hits in found] == [1, 1, 0]
    assert facts[0] is None
    assert facts[1] != facts[2]


def test_a_collection_without_files_is_refused(resources: Resources, tolls: Document) -> None:
    with (
        make_config(COPY).build(resources) as retriever,
        pytest.raises(AssayError, match=r"documents\.converter: .*`originals`"),
    ):
        retriever.index([replace(tolls, origin="")])


def test_a_card_names_the_files(
    tmp_path: Path, tolls: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge needs to know nothing of converters: gold is where it was."""
    card = tmp_path / "set"
    (card / "docs").mkdir(parents=True)
    (card / "docs" / tolls.id).write_text(TEXT)
    (card / "files").mkdir()
    Path(tolls.origin).rename(card / "files" / "tolls.html")
    (card / "queries.jsonl").write_text('{"_id": "q", "text": "what does a horse pay"}\n')
    (card / "judgments.jsonl").write_text(
        f'{{"query_id": "q", "path": "{tolls.id}", "section": "Ferries"}}\n'
    )
    (card / "dataset.yaml").write_text(
        "name: set\ntitle: Set\nformat: native\ndocuments: docs\noriginals: files\n"
    )
    collection = load(str(card))
    assert [item.origin for item in collection.documents] == [str(card / "files" / "tolls.html")]
    (card / "mine.yaml").write_text(
        "name: mine\nretriever: {legs: {keyword: {type: bm25, variant: lucene}}}\n"
        "documents: {converter: {type: command, command: [cat]}, chunker: {type: sections}}\n"
    )
    monkeypatch.chdir(tmp_path)
    config = load_config(card / "mine.yaml")
    with config.build(make_resources()) as retriever:
        retriever.index(collection.documents)
        scored = score_queries(retriever, collection, collection.queries, "Hit@1", 10)
    assert scored == {"q": 1.0}


def test_a_command_of_a_config_from_elsewhere_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "mine.yaml").write_text(
        "name: x\ndocuments: {converter: {type: command, command: [rm]}}\n"
        "retriever: {legs: {keyword: {type: bm25}}}\n"
    )
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(AssayError, match=r"documents\.converter\.type: names code to run"):
        load_config(tmp_path / "mine.yaml")
