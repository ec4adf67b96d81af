"""YAML as it is read everywhere: what people write, and what is refused in one line."""

import datetime
from itertools import pairwise

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from assay.retrievers.base import AssayError
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings.files import read_mapping

NAMES = "abcdefghi"


KL = {"k": 1, "l": 2}
BOMB = "a: &a [x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(NAMES)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: 1\n2024-01-01: {1: x}\nnull: 2\n", {"on": 1, "2024-01-01": {"1": "x"}, "null": 2}),
        (
            "a: &a {k: 1, l: 2}\nb: {<<: *a, k: 3}\nc: {<<: *a}\nd: *a\n",
            {"a": KL, "b": {"k": 3, "l": 2}, "c": KL, "d": KL},
        ),
        ("x: &x 5\n*x : 1\n", {"x": 5, "5": 1}),
        (
            "[1, 1.5, yes, ~, 2024-02-29, text]",
            [1, 1.5, True, None, datetime.date(2024, 2, 29), "text"],
        ),
        (
            "[010, -07, 1:30, 1_000, 1_0.5, 12:30:45.5, 0, -12, 0x1F, 0.5]",
            ["010", "-07", "1:30", "1_000", "1_0.5", "12:30:45.5", 0, -12, 31, 0.5],
        ),
        ("", None),
    ],
)
def test_what_people_write(text, value):
    """Keys are strings as written, values have their types, merges and aliases are read."""
    assert parse_yaml(text, "a.yaml") == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: the key 'a' stands twice"),
        ("a:\n  b: {c: 1, 'c': 2}", "line 2: the key 'c' stands twice"),
        ("a: 1\ndate: 2024-02-30", "line 2: not YAML: day is out of range"),
        ("a: 1\n? [b]\n: 2", "line 2: not YAML: a key must be a single value"),
        ("? {a: 1}\n: 2", "line 1: not YAML: a key must be a single value"),
        ("a: &a [*a]", "line 1: *a stands within itself"),
        ("a: &a {b: {c: *a}}", "line 1: *a stands within itself"),
        ("a: *b", "line 1: not YAML: found undefined alias"),
        (BOMB, "line 6: its aliases stand for more than 100,000 values"),
        ("a: 1\nb: " + "[" * 5000, "line 2: nested more than 100 deep"),
        ("- " * 5000, "line 1: nested more than 100 deep"),
        ("a: [1\nb: 2", "line 2: not YAML: while parsing a flow sequence"),
        ("a\n---\nb", "line 2: not YAML: expected a single document"),
        ("a: !!python/object/apply:os.getcwd []", "line 1: not YAML: could not determine"),
        ("a: !!int x", "line 1: not YAML"),
        ("a: !!bool x", "line 1: not YAML"),
        ("a: !!timestamp x", "line 1: not YAML"),
        ("a: 1\nb: 0x" + "f" * 9000, "line 2: not YAML"),
        ('a: "\\ud800"', "line 1: not YAML"),
        ('a: "\\U00110000"', "line 1: not YAML"),
        ("a: 1\nb: \0", "line 2: not YAML: special characters"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(AssayError) as caught:
        parse_yaml(text, "a.yaml")
    assert str(caught.value).startswith(f"a.yaml: {words}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.yaml", b"a: 1\nb: \xff\n", r"a\.yaml: line 2: not UTF-8"),
        ("a.yaml", b"- a\n", r"a\.yaml: must be a mapping of keys to values"),
        ("b.yaml", b"", r"b\.yaml: no such file; did you mean .*a\.yaml\?$"),
        ("folder/else", b"", r"else: no such file$"),
        (".", b"", "cannot be read: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name, content, says, tmp_path):
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(AssayError, match=says):
        read_mapping(tmp_path / name)
    with pytest.raises(AssayError, match=r"b\.yaml: no such config; there are: .*a\.yaml"):
        read_mapping(tmp_path / "b.yaml", config=True)
    with pytest.raises(AssayError, match=r"^a\.md: line 12: the key"):
        parse_yaml("a: 1\n\na: 2", "a.md", line=10)


SCALARS = st.sampled_from(
    ["a", "1", "1.5", "0x_", "2024-02-30", "2024-01-01", "~", "yes", "''", '"\\ud800"', "!!int b",
     "1:60:1", ".inf", "!!binary x", "!!set {a}", "&x a", "*x", "<<", "=", "!!null x", "!x y"]
)  # fmt: skip
DOCUMENTS = st.recursive(
    SCALARS,
    lambda parts: (
        st.lists(parts, max_size=4).map(lambda found: f"[{', '.join(found)}]")
        | st.lists(st.tuples(parts, parts), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"? {key} : {value}" for key, value in pairs) + "}"
        )
        | parts.map(lambda part: f"&x {part}")
    ),
    max_leaves=20,
)


@given(st.text() | DOCUMENTS | st.text(alphabet="&*ab:{}[],-?!<>|'\"\\ \n#%@0_", max_size=60))
@example("{a: 1, ? <<: {b: 2}}")
def test_any_text_is_read_or_refused_in_one_line(text):
    fault = ""
    try:
        repr(parse_yaml(text, "a.yaml")).encode()
    except AssayError as error:
        fault = str(error)
    assert not fault or fault.startswith("a.yaml: line ")
    assert len(fault.splitlines()) < 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    max_leaves=20,
)


@given(JSON)
def test_what_is_written_is_read(value):
    assert parse_yaml(yaml.safe_dump(value), "a.yaml") == value
