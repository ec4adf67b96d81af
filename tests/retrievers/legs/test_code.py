import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.code import find_code
from assay.retrievers.documents.definitions import find_definitions
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.legs.code import CodeLegSettings, read_entries
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=6)


def fenced(code, language=""):
    return f"```{language}\n{code}\n```\n"


def make_corpus(*texts):
    """A document a text, each of one chunk."""
    documents = [Document(f"{number:03}.md", text) for number, text in enumerate(texts)]
    chunks = [
        Chunk(f"{999 - number:03}", item.id, 0, len(item.text), item.text)
        for number, item in enumerate(documents)
    ]
    return Corpus(chunks, documents)


def make_leg(folder, corpus, **settings):
    values = {"type": "code"} | settings
    leg = CodeLegSettings.model_validate(values).build(Resources(Cache(folder)))
    leg.index(corpus)
    return leg


def find(leg, query):
    return [position for position, _ in leg.search(query, 10).candidates]


def test_code_of_a_document():
    text = (
        "# The `run` call\n\nUse ``a`b`` or `x\ny`, not \\`this`.\n\n"
        "- item\n\n  ~~~ {.Python}\n  f()\n  ~~~\n\n| a |\n|---|\n| `cell` |\n\n"
        "    indented()\n\n```js\nopen("
    )
    spans = list(find_code(parse(text)))
    assert [(text[span.start : span.end], span.language, span.inline) for span in spans] == [
        ("run", "", True),
        ("a`b", "", True),
        ("x\ny", "", True),
        ("  f()", "python", False),
        ("cell", "", True),
        ("open(", "javascript", False),
    ]


INSIDE = "call `getAuthToken`:\n\n```py\nfence()\n```\n\nThen [go](on.md). “Key” means a secret.\n"


def indent(text, by):
    return "".join(by + line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        f"Note: {INSIDE}",
        f"**Warning:** {INSIDE}",
        f"!!! note\n{indent(INSIDE, '    ')}",
        f"!!! note\n\n{indent(INSIDE, '    ')}",
        f"??? tip\r\n\r\n{indent(INSIDE, chr(9))}",
        f"!!! note\n\n    !!! tip\n\n{indent(INSIDE, '        ')}",
        f":::note\n{INSIDE}:::\n",
        f"> [!NOTE]\n{indent(INSIDE, '> ')}",
        f"- Note: {indent(INSIDE, '  ').lstrip()}",
        f'=== "Linux"\n\n{indent(INSIDE, "    ")}',
    ],
)
def test_nothing_is_hidden_inside_of_an_admonition(text):
    found = parse(f"# A\n\n{text}\nAfter `it`.\n")
    spans = [found.text[span.start : span.end].strip(" \t>") for span in find_code(found)]
    assert spans == ["getAuthToken", "fence()", "it"]
    assert [link.target for link in found.links] == ["on.md"]
    assert [item.term for item in find_definitions(found)] == ["Key"]
    starts = [block.start for block in found.blocks]
    assert starts == sorted(starts)


@given(
    st.lists(st.sampled_from(["!!! a", "    ", "\t", "`x`", "```", "\n", ":::a", ":::", "- ", "b"]))
)
def test_blocks_of_admonitions_stand_in_order(parts):
    found = parse("".join(parts))
    places = [(block.start, -block.end) for block in found.blocks]
    assert [start for start, _ in places] == sorted(start for start, _ in places)
    assert all(0 <= start <= -end <= len(found.text) for start, end in places)
    spans = [(span.start, span.end) for span in find_code(found)]
    assert spans == sorted(spans)


@given(st.text("`~ab \n>-", max_size=60))
def test_code_stands_in_its_document(text):
    for span in find_code(parse(text)):
        assert 0 <= span.start <= span.end <= len(text)
        assert not span.inline or span.start < span.end


def test_a_name_is_found_exactly(tmp_path):
    leg = make_leg(
        tmp_path,
        make_corpus(
            fenced("token = get_token(auth)\nauth.token.get()\ntoken(get, auth, token)"),
            fenced("// a long block\n" + "x = compute(y)\n" * 40 + "getAuthToken()"),
            fenced("getAuthTokens()"),
            "getAuthToken is named here, but not as code.",
            fenced("other()"),
        ),
    )
    result = leg.search("where is getAuthToken called?", 10)
    assert result.candidates[0][0] == 1
    assert {position for position, _ in result.candidates} == {0, 1, 2}
    assert result.note == "names found whole: getauthtoken"
    assert find(leg, "getauthtoken") == [1]
    assert find(leg, "`getAuthTokens`")[0] == 2
    assert leg.search("compute", 10).note == ""


def test_scores_by_hand(tmp_path):
    leg = make_leg(tmp_path, make_corpus(fenced("a b"), fenced("a c c d"), "`e`"), k1=1.0, b=0.5)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 7 / 3
    first, second = (idf / (1 + 0.5 + 0.5 * size / mean) for size in (2, 4))
    assert leg.search("a", 10).candidates == [
        (0, pytest.approx(first)),
        (1, pytest.approx(second)),
    ]
    # A name found whole adds one more than the best BM25 of all blocks.
    leg = make_leg(tmp_path, make_corpus(fenced("aB"), fenced("x y z")), k1=1.0, b=0.0)
    bm25 = 3 * math.log(2) / 2
    assert leg.search("aB", 10).candidates == [(0, pytest.approx(bm25 + 1 + bm25))]


def test_the_best_block_counts_and_chunks_without_code_never_appear(tmp_path):
    leg = make_leg(tmp_path, make_corpus("run the tests", "    run()", "Call `run`."))
    assert find(leg, "run the tests") == [2]
    for nothing in (make_corpus("run the tests", fenced("( )")), Corpus(())):
        assert find(make_leg(tmp_path, nothing), "run") == []
    alone = fenced("parse(x)")
    corpus = make_corpus(alone + "\n" + fenced("print(y)"), alone, fenced("save(z)"))
    leg = make_leg(tmp_path, corpus)
    (one, other) = leg.search("parse", 10).candidates
    assert (one[0], other[0]) == (0, 1)
    assert one[1] == other[1]


def test_a_query_may_name_a_language(tmp_path):
    corpus = make_corpus(fenced("connect()", "py"), fenced("connect()", "js"), "`connect`")
    leg = make_leg(tmp_path, corpus)
    assert sorted(find(leg, "connect")) == [0, 1, 2]
    assert find(leg, "lang:python connect") == [0]
    assert find(leg, "connect lang:JavaScript") == [1]
    assert sorted(find(leg, "lang:py lang:js connect")) == [0, 1]
    assert find(leg, "connect lang:rust") == []
    assert sorted(find(leg, "slang:py connect")) == [0, 1, 2]
    assert find(make_leg(tmp_path, corpus, languages=["Python"]), "connect") == [0]
    assert find(make_leg(tmp_path, corpus, languages=["rust"]), "connect") == []


def test_settings_may_leave_queries_without_code_alone(tmp_path):
    leg = make_leg(tmp_path, make_corpus(fenced("run parse_json -> C++", "py")), queries="names")
    for query in ("run parse_json", "`run`", "lang:py run", "a -> b", "in C++"):
        assert find(leg, query) == [0]
    for query in ("run", "how to run json?", "parse - json"):
        assert find(leg, query) == []


def test_a_block_cut_in_two_is_found_by_the_chunk_that_has_the_words(tmp_path):
    text = f"Intro `flag`\n\n{fenced('first()' + chr(10) + 'second()', 'py')}\nEnd `mark`."
    middle = text.index("second")
    chunks = [
        Chunk("2", "a.md", 0, middle, text[:middle]),
        Chunk("1", "a.md", middle, len(text), text[middle:]),
    ]
    corpus = Corpus(chunks, [Document("a.md", text)])
    entries = [(e.position, e.language, e.text) for e in read_entries(corpus)]
    assert entries == [
        (0, "python", "first()\n"), (0, "", "flag"), (1, "python", "second()"), (1, "", "mark")
    ]  # fmt: skip
    leg = make_leg(tmp_path, corpus)
    assert [find(leg, word) for word in ("first", "second", "flag", "mark")] == [[0], [1], [0], [1]]


@given(st.lists(WORD, min_size=2, max_size=4), st.lists(st.sampled_from(["run", "x", "="])))
def test_a_whole_name_outranks_its_parts(tmp_path_factory, parts, filler):
    name = parts[0] + "".join(part.capitalize() for part in parts[1:])
    assume(not set(parts) & set(filler))
    corpus = make_corpus(
        fenced(" ".join(parts)),
        fenced(" ".join(parts * 3)),
        fenced("_".join(parts)),
        fenced(f"{' '.join(filler * 20)} {name}"),
    )
    leg = make_leg(tmp_path_factory.mktemp("cache"), corpus)
    assert find(leg, f"how to {name}")[0] == 3
