import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Reader

from assay.retrievers.base import AssayError
from assay.retrievers.documents.tokens import TokenMap, WhitespaceTokenizer
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.default(Resources(Cache(default_root())))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   ", 0),
        ("hello world", 2),
        ("Hello, world!", 4),
        ("unaffable", 3),
        ("word " * 1000, 1000),
    ],  # past the model's limit
)
def test_counts_without_special_tokens(tokenizer, text, tokens):
    assert tokenizer.count(text) == tokens


def test_offsets_count_code_points(tokenizer):
    text = "🙂 naïve Zürich"
    words = [text[start:end] for start, end in tokenizer.offsets(text)]
    assert words[0] == "🙂"
    assert words[-1].endswith("ich")
    assert "naïve" in words


@settings(max_examples=50, deadline=None)
@given(text=TEXTS)
def test_offsets_ascend_within_the_text(tokenizer, text):
    offsets = tokenizer.offsets(text)
    assert len(offsets) == tokenizer.count(text)
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)


@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.one_of(TEXTS, st.sampled_from(" \t\n\r"))), data=st.data())
def test_the_tokens_of_a_span_are_those_of_its_words(tokenizer, words, data):
    assert tokenizer.splits_at_blanks
    text = "".join(words)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    tokens = TokenMap(text, WhitespaceTokenizer(tokenizer.offsets))
    assert tokens.count(begin, end) == tokenizer.count(text[begin:end])


@pytest.mark.parametrize(
    ("splitter", "added"),
    [
        (pre_tokenizers.ByteLevel(), []),
        (pre_tokenizers.Metaspace(), []),
        (pre_tokenizers.BertPreTokenizer(), [AddedToken("of a", normalized=False)]),
        (pre_tokenizers.BertPreTokenizer(), [AddedToken("[NEXT]", lstrip=True)]),
    ],
)
def test_words_that_are_parted_elsewhere_are_told(tmp_path, splitter, added):
    reader = Reader(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    reader.normalizer = normalizers.BertNormalizer()
    reader.pre_tokenizer = splitter
    reader.add_tokens(added)
    reader.save(str(tmp_path / "tokenizer.json"))
    assert not Tokenizer(str(tmp_path), Resources(Cache(default_root()))).splits_at_blanks


@pytest.mark.parametrize(
    "name", ["bge-small-en-v1.5", "all-MiniLM-L6-v2", "ms-marco-MiniLM-L-12-v2"]
)
def test_the_default_counts_as_every_pinned_model_does(tokenizer, name):
    other = Tokenizer(name, Resources(Cache(default_root())))
    texts = ["§ 42-3131.17 getUserById(user_id)", "Ærøskøbing, naïve café 東京 🙂", "a" * 300]
    assert [other.offsets(text) for text in texts] == [tokenizer.offsets(text) for text in texts]


def test_a_pattern_that_gives_up_and_a_damaged_file_are_told(tmp_path):
    resources = Resources(Cache(default_root()))
    file = tmp_path / "tokenizer.json"
    endless = pre_tokenizers.Split(Regex("(a+)+$"), "isolated")
    reader = Reader(models.WordLevel({"a": 0}, "a"))
    reader.pre_tokenizer = endless
    reader.save(str(file))
    with pytest.raises(AssayError, match="the tokenizer cannot read 'aaa"):
        Tokenizer(str(tmp_path), resources).count("a" * 60_000 + "b")
    file.write_text("[" * 100_000)
    with pytest.raises(AssayError, match=f"{file}: cannot be loaded: "):
        Tokenizer(str(tmp_path), resources).count("a")
