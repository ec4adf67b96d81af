import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.legs.graph import EdgeWeights, GraphLegSettings, find_edges
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

FIRST, SECOND, THIRD = (1 / (60 + rank) for rank in (1, 2, 3))


def make_corpus(texts):
    """Chunks are the paragraphs; positions follow the order in which the texts are given."""
    chunks = []
    for doc_id, text in texts.items():
        start = 0
        for paragraph in text.split("\n\n"):
            end = start + len(paragraph)
            chunks.append(Chunk(f"{999 - len(chunks)}", doc_id, start, end, paragraph))
            start = end + 2
    return Corpus(chunks, [Document(id_, text) for id_, text in texts.items()])


def make_leg(folder, corpus, **settings):
    values = {"type": "graph"} | settings
    leg = GraphLegSettings.model_validate(values).build(Resources(Cache(folder)))
    leg.index(corpus)
    return leg


def follow(leg, *found, depth=10):
    """Follow from the chunks at these positions, found by one leg in this order."""
    pairs = [(position, 1.0 - place / 10) for place, position in enumerate(found)]
    return dict(leg.follow("any", depth, {"dense": pairs}).candidates)


SITE = {
    "a.md": "Start, see [[b]].\n\nMore in [c](c.md).",  # 0, 1
    "b.md": "Opening of b.\n\nBack to [[a]], on to ![[c]].",  # 2, 3
    "c.md": "All of c.\n\nIts rest.",  # 4, 5
}


@pytest.mark.parametrize(
    ("texts", "edges"),
    [
        # From the chunk that points to the first of the document.
        (SITE, {(0, 2, "wikilink"), (1, 4, "link"), (3, 0, "wikilink"), (3, 4, "transclusion")}),
        # Related documents are those of every chunk.
        (
            {"a.md": "---\nrelated: [b.md]\n---\nOne.\n\nTwo.", "b.md": "Three."},
            {(0, 2, "related"), (1, 2, "related")},
        ),
        # A reference leads to the chunks of its section.
        (
            {"a.md": "# § 1 – Scope\n\nSubject to § 2.\n\n# § 2 – Fees\n\nTen.\n\nOr twelve."},
            {(1, position, "reference") for position in (2, 3, 4)},
        ),
    ],
)
def test_edges(texts, edges):
    assert find_edges(make_corpus(texts)) == edges


def test_scores_by_hand(tmp_path):
    leg = make_leg(tmp_path, make_corpus(SITE))
    assert follow(leg, 0, 1, 3) == {
        2: pytest.approx(FIRST),  # wikilink, 1
        4: pytest.approx(SECOND * 0.5 + THIRD),  # link, 0.5, and transclusion, 1
        0: pytest.approx(THIRD),
    }
    assert follow(leg, 5) == {}
    assert follow(leg) == {}
    assert list(follow(leg, 0, 1, 3, depth=2)) == list(follow(leg, 0, 1, 3))[:2]
    assert leg.search("opening of b", 10).candidates == []
    assert make_leg(tmp_path, Corpus(())).follow("any", 10, {}).candidates == []
    unlinked = make_leg(tmp_path, make_corpus(SITE), weights={"wikilink": 0.0})
    assert set(follow(unlinked, 0, 1, 3)) == {4}


def test_seeds_are_the_best_of_all_legs_before(tmp_path):
    leg = make_leg(tmp_path, make_corpus(SITE), seeds=1)
    found = {"dense": [(0, 0.9), (1, 0.8)], "keyword": [(1, 7.0), (5, 3.0)]}
    result = leg.follow("any", 10, found)
    assert result.candidates == [(4, pytest.approx((FIRST + SECOND) * 0.5))]
    assert result.note == "a.md → c.md (link)"


def test_a_second_hop_counts_less(tmp_path):
    corpus = make_corpus({"a.md": "[[b]]", "b.md": "[[c]]", "c.md": "[d](d.md)", "d.md": "End."})
    assert follow(make_leg(tmp_path, corpus), 0) == {1: pytest.approx(FIRST)}
    leg = make_leg(tmp_path, corpus, hops=2, decay=0.4)
    assert follow(leg, 0) == {1: pytest.approx(FIRST), 2: pytest.approx(FIRST * 0.4)}
    assert follow(leg, 1) == {2: pytest.approx(FIRST), 3: pytest.approx(FIRST * 0.4 * 0.5)}


def test_the_heaviest_edge_between_two_chunks_counts(tmp_path):
    corpus = make_corpus({"a.md": "[[b]], [b](b.md) and again [[b]]", "b.md": "End."})
    assert follow(make_leg(tmp_path, corpus), 0) == {1: pytest.approx(FIRST)}
    light = make_leg(tmp_path, corpus, weights={"wikilink": 0.1})
    assert follow(light, 0) == {1: pytest.approx(FIRST * 0.5)}


@given(st.permutations(range(6)), st.integers(1, 6), st.integers(1, 2))
def test_only_what_the_seeds_point_at_is_found(tmp_path_factory, order, seeds, hops):
    corpus = make_corpus(SITE)
    leg = make_leg(tmp_path_factory.getbasetemp() / "graph", corpus, seeds=seeds, hops=hops)
    edges = find_edges(corpus)
    reached, wanted = set(order[:seeds]), set[int]()
    for _ in range(hops):
        reached = {target for source, target, _ in edges if source in reached}
        wanted |= reached
    assert set(follow(leg, *order)) == wanted


def make_pipeline(**legs):
    fusion = {"type": "rrf", "weights": {"links": 0.5}} if len(legs) > 1 else None
    return PipelineSettings.model_validate({"legs": legs, "fusion": fusion})


def test_a_pipeline_tells_what_led_where(model_workshop):
    settings = make_pipeline(keyword={"type": "bm25", "variant": "lucene"}, links={"type": "graph"})
    documents = [
        Document("fares.md", "# Fares\n\nChildren pay half, see [[refunds#Deadline]].\n"),
        Document("refunds.md", "# Refunds\n\nIn cash.\n\n# Deadline\n\nWithin five days.\n"),
    ]
    with settings.build(DocumentSettings(), model_workshop) as built:
        built.index(documents)
        ranking = built.search("children", 5)
    assert [hit.chunk.headings[-1] for hit in ranking.hits] == ["Fares", "Deadline"]
    assert list(ranking.hits[1].legs) == ["links"]
    (entry,) = (entry for entry in ranking.trace if entry.name == "links")
    assert entry.note == "fares.md › Fares → refunds.md › Deadline (wikilink)"


@pytest.mark.parametrize(
    "legs",
    [
        {"links": {"type": "graph"}},
        {"links": {"type": "graph"}, "keyword": {"type": "bm25"}},
    ],
)
def test_a_graph_leg_cannot_come_first(legs):
    with pytest.raises(ValidationError, match=r"legs\.links: .* cannot come first; put it last"):
        make_pipeline(**legs)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hops": 3},
        {"seeds": 0},
        {"weights": {"wikilnk": 1.0}},
        {"weights": dict.fromkeys(EdgeWeights.model_fields, 0.0)},
    ],
)
def test_refuses(wrong):
    with pytest.raises(ValidationError):
        GraphLegSettings.model_validate({"type": "graph"} | wrong)
