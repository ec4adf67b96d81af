import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrievers.base import AssayError
from retrievers.models.tokens import Tokenizer
from retrievers.settings import Workshop
from retrievers.store.cache import Cache, default_root

TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.default(Workshop(Cache(default_root())))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("   ", 0), ("hello world", 2), ("Hello, world!", 4), ("unaffable", 3)],
)
def test_counts_without_special_tokens(tokenizer: Tokenizer, text: str, tokens: int) -> None:
    assert tokenizer.count(text) == tokens


def test_counts_past_the_models_limit(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("word " * 1000) == 1000


def test_offsets_count_code_points(tokenizer: Tokenizer) -> None:
    text = "🙂 naïve Zürich"
    words = [text[start:end] for start, end in tokenizer.offsets(text)]
    assert words[0] == "🙂"
    assert words[-1].endswith("ich")
    assert "naïve" in words


@settings(max_examples=50, deadline=None)
@given(text=TEXTS)
def test_offsets_ascend_within_the_text(tokenizer: Tokenizer, text: str) -> None:
    offsets = tokenizer.offsets(text)
    assert len(offsets) == tokenizer.count(text)
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)


@pytest.mark.parametrize(
    "name", ["bge-small-en-v1.5", "all-MiniLM-L6-v2", "ms-marco-MiniLM-L-12-v2"]
)
def test_the_default_counts_as_every_pinned_model_does(tokenizer: Tokenizer, name: str) -> None:
    other = Tokenizer(name, Workshop(Cache(default_root())))
    texts = ["§ 42-3131.17 getUserById(user_id)", "Ærøskøbing, naïve café 東京 🙂", "a" * 300]
    assert [other.offsets(text) for text in texts] == [tokenizer.offsets(text) for text in texts]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AssayError, match=r"tokenizer nix: unknown; allowed: bert-base-uncased"):
        Tokenizer("nix", Workshop(Cache(default_root())))
