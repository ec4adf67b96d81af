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
    # A score does not depend on the other texts, nor on threads.
    alone = CrossEncoderSettings().build(replace(model_workshop, threads=1))
    assert [alone.score(QUERY, [text])[0] for text in (*OTHERS, ANSWER)] == scores


def test_a_cap_on_tokens_cuts_the_passage_not_the_query(model_workshop):
    capped = CrossEncoderSettings(max_tokens=40).build(model_workshop)
    full = CrossEncoderSettings().build(model_workshop)
    assert capped.identity != full.identity
    long = f"{ANSWER} {' '.join(OTHERS * 10)}"
    assert capped.score(QUERY, [long]) == capped.score(QUERY, [long + " and more"])
    assert capped.score(QUERY, [long]) != capped.score(QUERY + "?", [long])
    assert capped.score(QUERY, [ANSWER]) == full.score(QUERY, [ANSWER])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"max_tokens": 600}, r"max_tokens: 600; .* reads at most 512"),
        ({"model": "nix"}, "model nix: unknown; allowed: ms-marco-MiniLM-L-12-v2"),
    ],
)
def test_refuses_what_cannot_work(given, problem, model_workshop):
    with pytest.raises(AssayError, match=problem):
        CrossEncoderSettings.model_validate(given).build(model_workshop)
    adapter = TypeAdapter(CrossEncoderSettings)
    assert adapter.validate_python("owner/name") == CrossEncoderSettings(model="owner/name")
