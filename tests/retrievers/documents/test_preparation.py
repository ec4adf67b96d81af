"""From documents to indexed chunks: what each setting of `documents:` changes."""

from pathlib import Path

import pytest

from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError, Context, Document, Passage
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.model_files.pins import DEFAULT_TOKENIZER, find_pinned
from assay.retrievers.model_files.wheels import fetch

CONFIGS = Path(__file__).parents[3] / "configs/documents"
TEXT = (
    "---\ntitle: Fares\nkeywords: [ticket, price]\nauthor: Ann\n---\n"
    "# Fares\n\n## Children\n\nThey pay half.\n\n## Dogs\n\nDogs travel free.\n"
)
DOCUMENT = Document("fares.md", TEXT, title="Fares", contexts=(Context(100, 140, "About dogs."),))


def search(resources, **settings):
    prepared = prepare([DOCUMENT], DocumentSettings.model_validate(settings), resources)
    return sorted(prepared.chunks, key=lambda chunk: chunk.start)


def test_frontmatter_is_not_searched_unless_asked(model_workshop):
    assert [chunk.kind for chunk in search(model_workshop)] == ["content", "content"]
    front, *rest = search(model_workshop, frontmatter="chunk")
    assert front.kind == "frontmatter"
    assert front.text == TEXT[: TEXT.index("# Fares")]
    assert rest == search(model_workshop)


def test_what_is_put_before_a_chunk(model_workshop):
    dogs = "## Dogs\n\nDogs travel free.\n"
    path = "Fares > Dogs"
    about = "Fares\nticket, price\nAnn"
    expected = {
        (): dogs,
        ("headings",): f"{path}\n\n{dogs}",
        ("frontmatter",): f"{about}\n\n{dogs}",
        ("frontmatter", "headings"): f"{about}\n\n{path}\n\n{dogs}",
        ("context", "headings"): f"{path}\n\nAbout dogs.\n\n{dogs}",
    }
    values = {"headings": True, "frontmatter": "text", "context": {"source": "collection"}}
    for names, text in expected.items():
        chunks = search(model_workshop, **{name: values[name] for name in names})
        assert chunks[-1].searchable == text, names
        assert chunks[-1].text == dogs
    # Headings are not put twice.
    once = search(model_workshop, context={"source": "headings"})
    assert search(model_workshop, context={"source": "headings"}, headings=True) == once
    assert once[-1].context == path


PLAIN = Document("minutes.txt", "The minutes of May. " + "Ann said so. " * 40, title="Minutes")
BARE = Document("guide.md", TEXT, title="Guide")  # without contexts of its own


def situate(document, source, resources):
    """Return the contexts of a document's chunks, in order; the opening has four words."""
    settings = {
        "chunker": {"type": "structure", "max_tokens": 60, "overlap_tokens": 0},
        "context": {"source": source, "opening_words": 4},
    }
    prepared = prepare([document], DocumentSettings.model_validate(settings), resources)
    return [chunk.context for chunk in sorted(prepared.chunks, key=lambda chunk: chunk.start)]


def test_auto_takes_the_headings_where_they_tell_chunks_apart(model_workshop):
    assert situate(BARE, "opening+headings", model_workshop) == [
        "# Fares ## Children\nGuide > Fares > Children",
        "# Fares ## Children\nGuide > Fares > Dogs",
    ]
    assert situate(DOCUMENT, "auto", model_workshop)[-1] == "About dogs."
    assert situate(BARE, "auto", model_workshop) == situate(BARE, "headings", model_workshop)
    plain = situate(PLAIN, "auto", model_workshop)
    assert len(plain) > 1
    assert set(plain) == {"The minutes of May.\nMinutes"}
    one_heading = Document("a.md", f"# Minutes\n\n{PLAIN.text}", title="Minutes")
    assert set(situate(one_heading, "auto", model_workshop)) == {"# Minutes The minutes\nMinutes"}


def test_chunks_come_whole_from_the_cache(model_workshop):
    settings = DocumentSettings.model_validate({"chunker": {"type": "parent_child"}})
    first = prepare([DOCUMENT], settings, model_workshop)
    again = prepare([DOCUMENT], settings, model_workshop)
    assert (first.cached, again.cached) == (False, True)
    assert again.chunks == first.chunks
    assert all(chunk.parent and chunk.anchors and chunk.section_id for chunk in again.chunks)


def test_the_tokenizer_is_a_setting(model_workshop):
    pin = find_pinned(DEFAULT_TOKENIZER, "tokenizer")
    assert pin is not None
    folder = fetch(pin, model_workshop).path
    assert search(model_workshop, tokenizer=str(folder)) == search(model_workshop)
    with pytest.raises(AssayError, match=r"tokenizer nonsense: unknown; allowed: .*bert-base"):
        search(model_workshop, tokenizer="nonsense")


def test_prescribed_passages_are_taken(model_workshop):
    document = Document("d", "One. Two.", passages=(Passage("p1", 0, 4), Passage("p2", 5, 9)))
    prepared = prepare([document], DocumentSettings(), model_workshop)
    assert {chunk.id for chunk in prepared.chunks} == {"p1", "p2"}
    cut = prepare([document], DocumentSettings(passages=False), model_workshop)
    assert [chunk.text for chunk in cut.chunks] == ["One. Two."]


def test_blank_documents_have_nothing_to_search(model_workshop):
    documents = [Document("a.md", " \n"), Document("b.md", ""), Document("c.md", "Text.")]
    (chunk,) = prepare(documents, DocumentSettings(headings=True), model_workshop).chunks
    assert chunk.doc_id == "c.md"
    with pytest.raises(AssayError, match="no text to search"):
        prepare(documents[:2], DocumentSettings(), model_workshop)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configs_that_show_the_settings(path, model_workshop):
    config = load_config(path)
    assert config.name == f"hybrid_rrf-{path.stem}"
    own = config.documents.model_dump()
    # `structure` shows the default.
    assert (own == DocumentSettings().model_dump()) == (path.stem == "structure")
    assert prepare([DOCUMENT], config.documents, model_workshop).chunks


def test_a_document_of_frontmatter_alone_is_found_by_it(model_workshop):
    alone = Document("kraken.md", "---\ntitle: Kraken\ndescription: sightings of it\n---\n")
    bare = Document("bare.md", "---\ndraft: true\n---\n")
    other = Document("dogs.md", "---\ntitle: Dogs\n---\n# Dogs\n\nThey stay on deck.\n")
    made = prepare([alone, bare, other], DocumentSettings(), model_workshop).chunks
    assert {chunk.doc_id: chunk.kind for chunk in made} == {
        "kraken.md": "frontmatter",
        "dogs.md": "content",
    }
