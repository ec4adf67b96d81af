"""Parents, neighbours and the context: what is returned in the place of a hit, or with it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.ranked_lists import cut, descends, ids, make_corpus, make_hits
from tools.own_cache import make_cache

from assay.retrievers.base import AssayError, Chunk, Definition, Document, Hit
from assay.retrievers.base.markdown import tokenize
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.settings import Resources
from assay.retrievers.stages.context import Context, ContextSettings, assemble, close
from assay.retrievers.stages.passages import Neighbours, NeighboursSettings, Parents
from assay.retrievers.store.cache import Cache

TEXT = "aa bb cc dd ee ff gg hh ii jj"
DOCUMENT = Document("d", TEXT)


@pytest.fixture(scope="module")
def resources(tmp_path_factory):
    """A resources with an empty cache, but for the models."""
    return Resources(Cache(make_cache(tmp_path_factory.mktemp("passages"))))


@pytest.fixture(scope="module")
def tokenizer(resources):
    return Tokenizer.default(resources)


def word(first, last):
    """Return the span of the words from the `first` to the `last` of TEXT."""
    return 3 * first, 3 * last + 2


@pytest.fixture
def family():
    """Children c0, c1 of one parent, c2 of another, c3 with none."""
    spans = [word(0, 1), word(2, 3), word(4, 4), word(6, 7)]
    parents = [word(0, 3), word(0, 3), word(4, 5), None]
    return [
        replace(chunk, parent=parent, headings=("H", f"S{i // 2}"), section_id=f"s{i // 2}")
        for i, (chunk, parent) in enumerate(zip(cut(DOCUMENT, *spans), parents, strict=True))
    ]


def find_parents(chunks, hits, *documents):
    stage = Parents()
    stage.index(make_corpus(chunks, documents or (DOCUMENT,)), 1.0)
    return stage.apply("q", hits)


def test_a_parent_takes_the_place_of_its_best_child(family):
    order = [family[i] for i in (1, 3, 2, 0)]
    result = find_parents(family, make_hits(order, [0.9, 0.8, 0.7, 0.6]))
    first, alone, other = (hit.chunk for hit in result.hits)
    assert [hit.score for hit in result.hits] == [0.9, 0.8, 0.7]
    assert alone == family[3]
    assert (first.start, first.end, first.text) == (*word(0, 3), "aa bb cc dd")
    assert (first.headings, first.section_id) == (("H", "S0"), "s0")
    assert (other.text, other.headings, other.section_id) == ("ee ff", ("H", "S1"), "s1")
    assert first.parent is other.parent is None
    assert result.counts == {"in": 4, "out": 3, "replaced": 3}
    # A child that is all of its parent stays, and headings are those that children share.
    (whole,) = cut(DOCUMENT, word(0, 3), parent=word(0, 3))
    assert find_parents([whole], make_hits([whole])).hits[0].chunk == whole
    headed = [replace(family[i], headings=("H", "A", name)) for i, name in enumerate("BC")]
    (hit,) = find_parents(headed, make_hits(headed)).hits
    assert hit.chunk.headings == ("H", "A")


def test_the_id_of_a_parent_tells_it_from_others_and_not_its_place(family):
    moved = [
        replace(chunk, start=chunk.start + 5, end=chunk.end + 5, parent=(5, 16))
        for chunk in family[:2]
    ]
    hits = find_parents(family, make_hits(family[:1])).hits
    after = find_parents(moved, make_hits(moved[:1]), Document("d", "12345" + TEXT)).hits
    assert ids(hits) == ids(after)
    twice = Document("d", "xx yy xx yy")
    alike = zip(cut(twice, (0, 2), (6, 8)), [(0, 5), (6, 11)], strict=True)
    chunks = [replace(chunk, parent=parent) for chunk, parent in alike]
    hits = find_parents(chunks, make_hits(chunks), twice).hits
    assert [hit.chunk.text for hit in hits] == ["xx yy", "xx yy"]
    assert len(set(ids(hits))) == 2


SENTENCES = "Refunds take ten days. Dogs travel on deck. Bring a lamp. Tides turn twice daily. "


@given(order=st.permutations(range(12)), counts=st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_parents_of_the_chunker_are_true(resources, order, counts):
    """On what the chunker parent_child cuts: each parent once, its text true, hits in order."""
    text = "".join(
        f"# Part {part}\n\n{SENTENCES * count}\n\n## Detail\n\n{SENTENCES}\n\n"
        for part, count in enumerate(counts)
    )
    settings = DocumentSettings.model_validate(
        {"chunker": {"type": "parent_child", "parent_tokens": 60, "parent_overlap_tokens": 10,
                     "max_tokens": 16, "overlap_tokens": 0}}
    )  # fmt: skip
    document = Document("d.md", text)
    corpus = Corpus(prepare([document], settings, resources).chunks, [document])
    hits = make_hits(
        corpus.chunks[i % len(corpus.chunks)]
        for i in dict.fromkeys(order)
        if i < len(corpus.chunks)
    )
    stage = Parents()
    stage.index(corpus, 1.0)
    after = stage.apply("q", hits).hits
    assert descends(after)
    spans = [(hit.chunk.start, hit.chunk.end) for hit in after]
    assert spans == list(dict.fromkeys(hit.chunk.parent for hit in hits))
    for hit in after:
        assert hit.chunk.text == text[hit.chunk.start : hit.chunk.end]
        assert hit.chunk.headings[0] == f"Part {int(hit.chunk.start >= text.index('# Part 1'))}"


FAR = 1.0, 0.5, 0.4, 0.3, 0.2
CLOSE = 1.0, 0.9805, 0.4, 0.3, 0.2
LONG = "one two three four five six seven eight nine ten eleven twelve"


def expand(listed, query=LONG, scores=FAR, pinned=0, **settings):
    """Apply to hits of words of DOCUMENT, each a chunk, listed by place, the first pinned."""
    chunks = cut(DOCUMENT, *(word(i, i) for i in range(10)))
    stage = Neighbours(NeighboursSettings.model_validate({"type": "neighbours", **settings}))
    stage.index(make_corpus(chunks, [DOCUMENT]), 1.0)
    hits = make_hits([chunks[i] for i in listed], scores[: len(listed)])
    return stage.apply(query, [replace(hit, pinned=i < pinned) for i, hit in enumerate(hits)])


def places(result):
    return [int(hit.chunk.id.removeprefix("d#c")) for hit in result.hits]


def test_neighbours_stand_right_behind_the_first_hits():
    result = expand([4, 0, 9, 7], top=2)
    assert places(result) == [4, 3, 5, 0, 1, 9, 7]
    assert result.counts == {"in": 4, "out": 7, "expanded": 1, "added": 3, "moved": 0}
    assert all(one.score > other.score for one, other in pairwise(result.hits))
    assert result.hits[0].legs
    assert not result.hits[1].legs
    assert result.note.startswith("12 words")


def test_links_of_a_store_go_before_what_the_corpus_tells():
    """Where the store has none, or cannot be asked, the corpus knows the same."""
    chunks = cut(DOCUMENT, *(word(i, i) for i in range(10)))
    corpus = make_corpus(chunks, [DOCUMENT])
    stage = Neighbours(NeighboursSettings(type="neighbours", top=1))
    stage.index(corpus, 1.0)
    hits = make_hits([chunks[4]], [1.0])

    def fail(positions):
        raise AssayError("the server is gone")

    here = places(stage.apply(LONG, hits))
    assert here == [4, 3, 5]
    for beside, found in (
        (lambda positions: [[corpus.positions["d#c9"]] for _ in positions], [4, 9]),
        (lambda positions: None, here),
        (fail, here),
    ):
        stage.link(beside)
        assert places(stage.apply(LONG, hits)) == found


def test_what_is_listed_is_not_repeated_but_may_move_up():
    result = expand([4, 5, 8, 1, 3], top=2)
    assert places(result) == [4, 3, 5, 6, 8, 1]
    assert result.counts == {"in": 5, "out": 6, "expanded": 1, "added": 1, "moved": 1}
    assert result.hits[1].legs


@pytest.mark.parametrize(
    ("query", "scores", "settings", "expanded"),
    [
        (LONG, FAR, {}, 1),
        ("eleven words" + " x" * 9, FAR, {}, 0),
        ("short", CLOSE, {}, 1),
        ("short", CLOSE, {"score_delta": 0.019}, 0),
        ("short", CLOSE, {"score_delta": None}, 0),
        (LONG, FAR, {"query_tokens": 13}, 0),
    ],
)
def test_the_rule_of_expansion(query, scores, settings, expanded):
    result = expand([4, 0, 9], query, scores, **settings)
    assert result.counts["expanded"] == expanded
    assert (places(result) == [4, 0, 9]) == (not expanded)


@given(listed=st.permutations(range(10)), size=st.integers(0, 10), top=st.integers(1, 5))
def test_expansion_is_bounded(listed, size, top):
    scores = [1 / rank for rank in range(1, 11)]
    before = listed[:size]
    result = expand(before, scores=scores, top=top)
    after = places(result)
    assert len(after) == len(set(after))
    assert set(before) <= set(after)
    assert len(after) <= size + 2 * top
    assert [i for i in after if i in before[:top]] == before[:top]
    assert descends(result.hits)


@pytest.fixture(scope="module")
def build(resources, tokenizer):
    """Make the stage `context` over `chunks` with settings by keyword."""

    def make(chunks=(), **settings):
        given = ContextSettings.model_validate({"type": "context", **settings})
        stage = Context(given, tokenizer, resources)
        if chunks:
            stage.index(make_corpus(chunks), 1.0)
        return stage

    return make


PAGE = Document("p.md", "Alpha one. Alpha two. Beta one. Beta two.")


@pytest.fixture
def page():
    """Two touching passages of section A, two of B with a gap, one of another document."""
    first = cut(PAGE, (0, 11), (11, 22), (22, 31), (32, 41))
    headed = [replace(chunk, headings=("P", "AB"[i // 2])) for i, chunk in enumerate(first)]
    other = cut(Document("q.md", "Gamma."), (0, 6))
    return make_hits([headed[3], *other, headed[1], headed[0], headed[2]])


def test_a_context_stands_in_the_order_of_the_text(page):
    assert assemble(page) == (
        "## P > A\n\nAlpha one. Alpha two.\n\n---\n\n## P > B\n\nBeta one.\n\n---\n\nBeta two."
        "\n\n---\n\n## q.md\n\nGamma."
    )
    assert assemble([]) == ""
    overlapping = make_hits(cut(PAGE, (0, 15), (6, 22), (11, 20)))
    assert assemble(overlapping) == "## p.md\n\nAlpha one. Alpha two."
    chunk = Chunk("a", "d", 0, 4, "text", title="The\ntitle", headings=("H",))
    assert assemble(make_hits([chunk])) == "## H > The title\n\ntext"


def test_definitions_come_last_unless_a_passage_holds_them(build, tokenizer, page):
    held = Definition("Alpha", "Alpha one.", (), "p.md", 0, 10)
    other = Definition("Delta", "Delta means\nfour.", (), "r.md", 0, 10)
    hits = [replace(hit, definitions=(held, other)) for hit in page]
    assert assemble(hits) == (
        f"{assemble(page)}\n\n---\n\n## Definitions\n\n- **Delta**: Delta means four."
    )
    result = build(max_tokens=100).apply("q", hits)
    assert result.counts["tokens"] == tokenizer.count(assemble(hits)) == 55


def test_the_budget_counts_headings_and_rules(build, tokenizer, page):
    """`## q.md` and `Gamma.` are 5 and 3 tokens, a rule 3, `## P > B` 5, `Beta two.` 3."""
    listed = page[:2]
    full = tokenizer.count(assemble(listed))
    enough = build(max_tokens=full).apply("q", listed)
    assert (enough.hits, enough.counts["tokens"]) == (listed, full)
    scarce = build(max_tokens=full - 1).apply("q", listed)
    assert ids(scarce.hits) == ids(listed[:1])
    assert scarce.counts == {
        "in": 2, "out": 1, "tokens": 8, "chunks": 1, "dropped": 1, "cut": 0,
    }  # fmt: skip
    assert "8 tokens" in scarce.note


def test_overflow_cuts_stops_or_skips(build):
    texts = ["small", "It is large. " * 20, "tiny"]
    chunks = [Chunk(f"c{i}", f"d{i}", 0, len(text), text) for i, text in enumerate(texts)]
    hits = make_hits(chunks)
    cut_short = build(chunks, max_tokens=30).apply("q", hits)
    assert [hit.chunk.text for hit in cut_short.hits] == ["small", "It is large. " * 4]
    assert cut_short.counts["cut"] == cut_short.counts["dropped"] == 1
    assert cut_short.note == "28 tokens; cut the last hit to fit, left out 1 hits that exceed 30"
    stopped = build(chunks, max_tokens=30, on_overflow="stop").apply("q", hits)
    assert ids(stopped.hits) == ["c0"]
    skipped = build(chunks, max_tokens=30, on_overflow="skip").apply("q", hits)
    assert ids(skipped.hits) == ["c0", "c2"]
    # The best hit is cut and never left out, at a sentence where there is one.
    for how, text in (("cut", "It is large. " * 50), ("stop", "large " * 50), ("skip", texts[1])):
        (chunk,) = cut(Document("d.md", f"Before. {text}"), (8, 8 + len(text)))
        hit = Hit(replace(chunk, anchors=("a",)), 1.0)
        ((kept, *_),) = (build([chunk], max_tokens=20, on_overflow=how).apply("q", [hit]).hits,)
        found = kept.chunk
        assert found.text == text[: found.end - found.start]
        assert found.text.rstrip().endswith("large." if "It" in text else "large")
        assert (found.start, found.anchors, found.id == chunk.id) == (8, (), False)


LINES = (
    "word", "", "- item", "> quote", "    code", "1. one", "Title\n===", "| a |\n|---|", "東京\x00",
    "```", "```python", "~~~~", "- item\n  ```", "> ~~~", "<!-- note", "-->", "<pre>", "<?php",
)  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(LINES), min_size=1, max_size=6).map("\n".join)


@settings(deadline=None)
@given(
    texts=st.lists(MARKDOWN | st.text(max_size=60), max_size=6),
    budget=st.integers(1, 80),
    how=st.sampled_from(["cut", "stop", "skip"]),
)
def test_the_budget_is_never_exceeded_and_something_always_kept(
    build, tokenizer, texts, budget, how
):
    document = Document("m.md", "\n\n".join(texts))
    spans, i = [], 0
    for text in texts:
        spans.append((i, i + len(text)))
        i += len(text) + 2
    chunks = cut(document, *spans)
    stage = build(max_tokens=budget, on_overflow=how)
    hits = make_hits(chunks)
    result = stage.apply("q", hits)
    tokens = tokenizer.count(assemble(result.hits))
    assert result.counts["tokens"] == tokens <= budget
    whole = result.hits[: len(result.hits) - result.counts["cut"]]
    assert [hit for hit in hits if hit in whole] == whole
    assert how == "skip" or whole == hits[: len(whole)]
    assert how == "cut" or not result.counts["cut"] or not whole
    held = [hit.chunk.text for hit in hits if hit.chunk.text.strip()]
    assert result.hits or budget < 20 or not held
    for hit in result.hits:
        assert hit.chunk.text == document.text[hit.chunk.start : hit.chunk.end]
    assert stage.apply("q", result.hits).hits == result.hits


@given(text=MARKDOWN)
def test_no_passage_swallows_the_next(text):
    closed = close(text)
    assert closed.startswith(text)
    after = tokenize(f"{closed}\n\n---\n\n## Next\n\nend")
    kinds = [token.type for token in after[-7:]]
    assert kinds == ["hr", "heading_open", "inline", "heading_close",
                     "paragraph_open", "inline", "paragraph_close"]  # fmt: skip
