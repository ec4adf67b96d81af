from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from assay.retrievers.base import AssayError
from assay.retrievers.models.cross_encoders import CrossEncoderSettings

QUERY = "how many people live in Berlin"
ANSWER = "Berlin had a population of 3,520,031 registered inhabitants in an area of 891 km²."
OTHERS = [
    "New York City is famous for its museums.",
    "A bear is a large mammal of the family Ursidae.",
    "Berlin is a song by Lou Reed from his first solo album.",
]


def test_the_answer_comes_first(model_workshop):
    scores = CrossEncoderSettings().build(model_workshop).score(QUERY, [*OTHERS, ANSWER])
    assert len(scores) == 4
    assert max(scores) == scores[3]
    # About 9.2; with the passage not marked as the second part, 7.2. Digits differ between CPUs.
    assert scores[3] > 8.2


def test_a_cap_on_tokens_cuts_the_passage_not_the_query(model_workshop):
    capped = CrossEncoderSettings(max_tokens=40).build(model_workshop)
    full = CrossEncoderSettings().build(model_workshop)
    assert capped.identity != full.identity
    long = f"{ANSWER} {' '.join(OTHERS * 10)}"
    assert capped.score(QUERY, [long]) == capped.score(QUERY, [long + " and more"])
    assert capped.score(QUERY, [long]) != capped.score(QUERY + "?", [long])
    assert capped.score(QUERY, [ANSWER]) == full.score(QUERY, [ANSWER])


def test_a_name_alone_stands_for_the_settings():
    adapter = TypeAdapter(CrossEncoderSettings)
    assert adapter.validate_python("owner/name") == CrossEncoderSettings(model="owner/name")


def test_refuses_more_tokens_than_the_model_reads(model_workshop):
    with pytest.raises(AssayError, match=r"max_tokens: 600; .* reads at most 512"):
        CrossEncoderSettings(max_tokens=600).build(model_workshop)


def test_an_unknown_model_lists_the_pinned_ones(model_workshop):
    with pytest.raises(AssayError, match="model nix: unknown; allowed: ms-marco-MiniLM-L-12-v2"):
        CrossEncoderSettings(model="nix").build(model_workshop)


def test_a_score_does_not_depend_on_the_other_texts(model_workshop):
    texts = [*OTHERS, ANSWER, ANSWER * 20]
    together = CrossEncoderSettings().build(model_workshop).score(QUERY, texts)
    alone = CrossEncoderSettings().build(replace(model_workshop, threads=1))
    assert [alone.score(QUERY, [text])[0] for text in texts] == together
    assert alone.score(QUERY, texts[::-1]) == together[::-1]
