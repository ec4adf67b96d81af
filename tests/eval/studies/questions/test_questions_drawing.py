"""Which passages are asked about, and what words tell of a question."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.llm.model_families import find_vendor, warn_of_families
from assay.eval.studies.questions.drawing import Passage, draw_all
from assay.eval.studies.questions.kinds import KINDS, choose_kinds
from assay.eval.studies.questions.words import LEAKS, find_identifiers, find_leak, measure_overlap
from assay.retrievers.base import AssayError

FACTUAL, COMPARISON, EXACT = KINDS["factual"], KINDS["comparison"], KINDS["exact_id"]


def make_passages(sizes):
    """Return passages: a list of sections a document, and so many passages a section."""
    return [
        Passage(f"{doc}-{section}-{i}", f"d{doc}", i, i + 1, "text E17", (f"s{section}",))
        for doc, sections in enumerate(sizes)
        for section, count in enumerate(sections)
        for i in range(count)
    ]


def draw(passages, number, seed=0, **given):
    values = {"partners": {}, "kinds": [FACTUAL]} | given
    return draw_all(passages, values["partners"], values["kinds"], number, seed)  # type: ignore[arg-type]


SIZES = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5)


@given(SIZES, st.integers(0, 60), st.integers(0, 9), st.randoms())
def test_draws_hang_on_the_seed_alone_and_take_turns(sizes, number, seed, chance):
    passages = make_passages(sizes)
    kinds = [FACTUAL, EXACT]
    drawn = draw(passages, number, seed, kinds=kinds)
    shuffled = chance.sample(passages, len(passages))
    assert draw(shuffled, number, seed, kinds=kinds) == drawn
    assert draw(passages, 2 * number, seed, kinds=kinds)[:number] == drawn
    assert len(drawn) == min(number, 2 * len(passages))
    assert [one.number for one in drawn] == list(range(len(drawn)))
    pairs = [(one.kind.name, one.passages[0].id) for one in drawn]
    assert len(set(pairs)) == len(pairs)
    # No document is ahead of another that still had passages left.
    first = draw(passages, len(sizes), seed)
    assert len({one.passages[0].doc_id for one in first}) == len(first)


def test_documents_then_sections_count_alike_however_long_they_are():
    passages = make_passages([[40, 1], [1, 1]])
    drawn = [one.passages[0] for one in draw(passages, 4)]
    assert Counter(one.doc_id for one in drawn) == {"d0": 2, "d1": 2}
    assert len({one.section for one in drawn}) == 4
    starts = {tuple(one.passages[0].start for one in draw(passages, 8, seed)) for seed in range(9)}
    assert len(starts) > 1


def test_a_comparison_has_a_partner_and_other_types_what_suits_them():
    passages = make_passages([[1, 1, 1]])
    partners = {"0-0-0": ["0-2-0"], "0-2-0": ["0-0-0"]}
    drawn = draw(passages, 9, partners=partners, kinds=[COMPARISON])
    found = {tuple(passage.id for passage in one.passages) for one in drawn}
    assert found == {("0-0-0", "0-2-0"), ("0-2-0", "0-0-0")}
    bare = [Passage("x", "d", 0, 9, "nothing to look up", ())]
    assert draw(bare, 3, kinds=[EXACT]) == []
    assert len(draw([*bare, *passages], 9, kinds=[EXACT])) == 3


def test_types_are_chosen_by_name():
    assert choose_kinds([]) == list(KINDS.values())
    assert choose_kinds(["factual", "factual"]) == [FACTUAL]
    with pytest.raises(AssayError, match=r"--types: 'factuall': .*allowed: factual, how_to"):
        choose_kinds(["factuall"])


WORDS = st.lists(
    st.sampled_from(["the", "pump", "runs", "dry", "at", "night", "when", "nobody", "looks"]),
    max_size=9,
)


@given(WORDS, WORDS)
def test_overlap_is_a_share_and_whole_where_all_is_copied(some, other):
    question, passage = " ".join(some), " ".join(other)
    assert 0 <= measure_overlap(question, passage) <= 1
    assert measure_overlap(question, f"{passage} {question.upper()}") == (1 if some else 0)


@pytest.mark.parametrize(
    ("question", "passage", "share"),
    [
        ("a b c d e", "x a b c y c d e", 2 / 3),
        ("E17?", "fault E17", 1),
        ("水泵停止", "如果水泵停止了", 1),
        ("水泵停止", "水泵坏了", 0),
    ],
)
def test_overlap_counts_runs_of_three(question, passage, share):
    assert measure_overlap(question, passage) == pytest.approx(share)


def test_identifiers_are_found():
    text = "See § 4.2(a), fault E17 of GV-400, max_tokens, getUser and 10.4.1; not 2024 or Anna."
    found = {"§ 4.2(a)", "E17", "GV-400", "max_tokens", "getUser", "10.4.1"}
    assert find_identifiers(text) == found


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("any", "What does [passage 1] say?"),
        ("en", "According to the text, who pays?"),
        ("en", "Which fee is mentioned in this passage?"),
        ("de", "Wer zahlt laut dem Text die Gebühr?"),
        ("fr", "Selon le texte, qui paie ?"),
        ("es", "¿Quién paga según el texto?"),
        ("it", "Secondo il testo, chi paga?"),
        ("pt", "Segundo o texto, quem paga?"),
        ("nl", "Wie betaalt er volgens de tekst?"),
        ("zh", "根据上述文章，谁付款？"),
        ("ja", "本文によると、誰が払いますか。"),
        ("ko", "본문에 따르면 누가 지불합니까?"),
    ],
)
def test_leaks_are_found_in_every_language(language, question):
    assert language in LEAKS
    assert find_leak(question)


@pytest.mark.parametrize(
    "question",
    [
        "How do I attach a document to the ticket?",
        "Wer darf den Textbaustein ändern?",
        "Which text editor opens the log?",
        "Who signs the document before it is sent?",
        "How long are passages kept clear in a warehouse?",
        "What applies according to § 12?",
        "How long does it last according to the battery study?",
        "Which fee is listed in the tariff of 2024?",
        "How do I delete pages of a document?",
    ],
)
def test_what_is_no_leak_stays(question):
    assert find_leak(question) == ""


def test_families_are_known_by_name():
    names = {
        "anthropic claude-haiku-5-5": "Anthropic",
        "openai gpt-6-luna": "OpenAI",
        "openai/o3-mini": "OpenAI",
        "BAAI/bge-small-en-v1.5": "BAAI",
        "openai SmolLM2-135M-Instruct": "Hugging Face",
        "meta-llama/Llama-3-8B": "Meta",
        "something-else": "",
    }
    assert {name: find_vendor(name) for name in names} == names
    assert warn_of_families({"generator": "gpt-6-luna", "reranker": "bge-reranker"}) == []
    (line,) = warn_of_families({"generator": "gpt-6", "judge": "o3", "encoder": "gpt-x", "r": "y"})
    assert line.startswith("generator, judge and encoder are models of OpenAI")
