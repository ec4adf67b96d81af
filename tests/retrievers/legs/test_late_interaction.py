"""Late interaction: MaxSim against its definition, vectors in a file, models that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs import late_interaction
from assay.retrievers.legs.late_interaction import (
    LateInteractionLegSettings,
    TokenVectors,
    write_vectors,
)
from assay.retrievers.legs.truncation import find_window, list_encoders
from assay.retrievers.model_files.pins import find_pinned
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.models import cached_vectors as kept
from assay.retrievers.models.late_interaction.token_vectors import TokenEncoderSettings

TEXTS = [
    "Cats are kept as pets.",
    "The central bank raised its interest rate.",
    "Run pip to install the package.",
    "",
]


def make_corpus(texts):
    chunks = [Chunk(f"c{i}", "d", 0, len(text), text) for i, text in enumerate(texts)]
    return Corpus(chunks[::-1])


@given(counts=st.lists(st.integers(1, 7), min_size=1, max_size=30), block=st.integers(1, 20))
def test_scores_are_the_means_of_the_greatest_cosines(tmp_path_factory, counts, block):
    random = np.random.default_rng(len(counts))
    passages = [random.normal(size=(count, 6)).astype(np.float16) for count in counts]
    query = random.normal(size=(3, 6)).astype(np.float32)
    folder = tmp_path_factory.mktemp("vectors")
    write_vectors(folder, iter(passages))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late_interaction, "ROWS_PER_BLOCK", block)
        vectors = TokenVectors(folder)
    wanted = [(item.astype(np.float64) @ query.T).max(axis=0).mean() for item in passages]
    assert vectors.score(query) == pytest.approx(wanted, abs=2e-5)
    assert vectors.bytes == sum(counts) * 6 * 2


def test_the_leg_scores_the_token_vectors_of_an_encoder(model_workshop):
    leg = LateInteractionLegSettings(type="late_interaction").build(model_workshop)
    report = leg.index(make_corpus(TEXTS))
    assert (report.chunks, report.cached) == (4, ())
    encoder = TokenEncoderSettings().build(model_workshop)
    passages = list(encoder.find([chunk.text for chunk in make_corpus(TEXTS).chunks]))
    assert report.bytes == sum(item.nbytes for item in passages)
    query = encoder.encode_query("pets")
    assert np.linalg.norm(query, axis=1) == pytest.approx(np.ones(len(query)), abs=1e-5)
    result = leg.search("pets", 4)
    wanted = [(item.astype(np.float64) @ query.T).max(axis=0).mean() for item in passages]
    assert [score for _, score in result.candidates] == pytest.approx(
        sorted(wanted)[::-1], abs=2e-5
    )
    assert result.candidates[0][0] == 3
    assert result.counts == {"query_tokens": len(query)}
    again = LateInteractionLegSettings(type="late_interaction").build(model_workshop)
    cached = again.index(make_corpus(TEXTS))
    assert (cached.cached, cached.seconds) == (("embed",), report.seconds)
    assert again.search("pets", 4).candidates == result.candidates
    assert leg.metadata()["trained_for_late_interaction"] is False
    assert find_window(list_encoders([LateInteractionLegSettings(type="late_interaction")],
                                     model_workshop)) == 512  # fmt: skip


def test_equal_chunks_tie_wherever_they_stand(model_workshop):
    leg = LateInteractionLegSettings(type="late_interaction").build(model_workshop)
    leg.index(make_corpus(TEXTS[:2] * 9))
    candidates = leg.search("animals at home", 18).candidates
    assert [i for i, _ in candidates] == [*range(1, 18, 2), *range(0, 18, 2)]
    assert len({score for _, score in candidates}) == 2


def test_what_was_encoded_before_a_kill_is_kept(model_workshop, monkeypatch):
    monkeypatch.setattr(kept, "TEXTS_PER_WRITE", 2)
    encoder = TokenEncoderSettings().build(model_workshop)
    found = encoder.find(TEXTS)
    next(found)
    found.close()  # as a kill: of four texts a block of two was made
    with pytest.raises(AssayError, match="max_tokens: 513; the model bge-small"):
        TokenEncoderSettings(max_tokens=513).build(model_workshop)
    again = TokenEncoderSettings().build(model_workshop)
    made = []
    encode = again._encode
    again._encode = lambda texts: made.extend(texts) or encode(texts)
    assert len(list(again.find([*TEXTS, TEXTS[0]]))) == 5
    assert made == TEXTS[2:]


@pytest.fixture
def plain(model_workshop):
    pin = find_pinned("all-MiniLM-L6-v2", "encoder", "st")
    assert pin is not None
    return fetch(pin, model_workshop).path


@pytest.mark.st
def test_an_encoder_of_another_kind_gets_no_random_layer(model_workshop, plain):
    encoder = TokenEncoderSettings(model=str(plain)).build(model_workshop)
    with pytest.raises(AssayError, match="not trained for late interaction: its files"):
        encoder.encode_query("pets")


@pytest.mark.st
def test_a_saved_late_interaction_model_gives_its_own_vectors(model_workshop, plain, tmp_path):
    from sentence_transformers import MultiVectorEncoder

    MultiVectorEncoder(str(plain)).save_pretrained(str(tmp_path))
    own = MultiVectorEncoder(str(tmp_path))
    leg = LateInteractionLegSettings.model_validate(
        {"type": "late_interaction", "encoder": str(tmp_path)}
    ).build(model_workshop)
    leg.index(make_corpus(TEXTS))
    wanted = own.similarity(own.encode_query(["pets"]), own.encode_document(TEXTS))[0].tolist()
    result = leg.search("pets", 4)
    tokens = result.counts["query_tokens"]
    found = {3 - i: score * tokens for i, score in result.candidates}
    assert [found[i] for i in range(4)] == pytest.approx(wanted, abs=0.01)
