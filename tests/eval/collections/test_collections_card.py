"""Cards: what they may say, how they are found, where their data lies."""

from pathlib import Path

import pytest

from assay.eval.collections import catalog
from assay.eval.collections.catalog import find_card, list_cards, read_card
from assay.eval.collections.formats.native import NativeCard
from assay.eval.collections.loading import load
from assay.eval.collections.location import find_data, why_unavailable
from assay.retrievers.base import AssayError

MINIMAL = "name: tiny\ntitle: Tiny\nformat: native\n"


def write_card(folder, text=MINIMAL):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text(text)
    return folder / "dataset.yaml"


def test_a_card_fills_in_what_its_format_usually_has(tmp_path):
    card = read_card(write_card(tmp_path))
    assert isinstance(card, NativeCard)
    assert (card.documents, card.queries, card.variants) == ("docs", "queries.jsonl", ("test",))
    assert (card.location, card.folder, card.language) == (".", tmp_path, "en")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "must be a mapping of keys to values"),
        ("name: [x\n", "not YAML"),
        (MINIMAL + "title: Twice\n", "line 4: the key 'title' stands twice"),
        (MINIMAL + "source: 2024-02-30\n", "line 4: not YAML: day is out of range"),
        ("name: x\ntitle: X\n", "format: must be one of beir, irds, native"),
        ("name: x\ntitle: X\nformat: csv\n", "format: must be one of"),
        (MINIMAL + "colour: red\n", "colour: unknown key; allowed: name, title"),
        (MINIMAL + "sizes: {documents: many}\n", "sizes.documents: input should be a valid int"),
        (MINIMAL + "min_grade: '2'\n", "min_grade: input should be a valid integer"),
        (MINIMAL + "judgments: {}\n", "judgments: dictionary should have at least 1 item"),
        (MINIMAL + "digests: {docs: abc}\n", "digests.docs: string should match"),
        (MINIMAL.replace("tiny", "a/b"), "name: string should match"),
        ("name: x\ntitle: X\nformat: irds\nlocation: x\n", "location: string should match"),
        (
            MINIMAL + "location: {url: 'http://x/a.zip'}\n",
            "location: input should be a valid string",
        ),
    ],
)
def test_a_wrong_card_is_refused_in_one_line(tmp_path, text, message):
    path = write_card(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        read_card(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A current directory and a project, each with a datasets folder."""
    here = tmp_path / "here"
    write_card(here / "datasets/mine", MINIMAL.replace("tiny", "mine"))
    write_card(here / "datasets/both", MINIMAL.replace("Tiny", "of here"))
    write_card(tmp_path / "project/datasets/both", MINIMAL.replace("Tiny", "of the project"))
    write_card(tmp_path / "project/datasets/theirs")
    monkeypatch.chdir(here)
    monkeypatch.setattr(catalog, "find_shipped", (tmp_path / "project").joinpath)
    return here


def test_names_are_looked_up_here_first_and_folders_by_their_path(workplace):
    assert list(list_cards()) == ["both", "mine", "theirs"]
    assert find_card("both").title == "of here"
    assert find_card("theirs").title == "Tiny"
    card = write_card(workplace / "elsewhere/set")
    assert find_card("elsewhere/set").path == Path("elsewhere/set/dataset.yaml")
    assert find_card(str(card)).title == "Tiny"
    for name, told in (
        (str(workplace / "elsewhere"), r"holds no dataset\.yaml; `assay init`"),
        ("their", r"their: there is no such .* both, mine, theirs; or .*did you mean theirs"),
    ):
        with pytest.raises(AssayError, match=told):
            find_card(name)


def test_a_set_that_is_not_here_is_named_where_it_is(tmp_path, monkeypatch):
    more = "location: $ASSAY_DATA/tiny\nirds: irds:beir/tiny/test\n"
    card = read_card(write_card(tmp_path / "tiny", MINIMAL + more))
    end = r"tiny/; or take irds:beir/tiny/test, which ir_datasets downloads \(extra irds\)$"
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    with pytest.raises(AssayError, match=end):
        find_data(card)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "empty"))
    with pytest.raises(AssayError, match="check the value of ASSAY_DATA; or take irds:beir/tiny/"):
        find_data(card)


def test_data_below_a_variable(tmp_path, monkeypatch):
    path = write_card(tmp_path / "tiny", MINIMAL + "location: $ASSAY_DATA/tiny\n")
    card = read_card(path)
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    expected = (
        "collection tiny lies below $ASSAY_DATA, which is not set; "
        "set it to the folder that holds tiny/"
    )
    assert why_unavailable(card) == expected
    with pytest.raises(AssayError) as caught:
        load(str(path.parent))
    assert str(caught.value) == expected
    monkeypatch.setenv("ASSAY_DATA", "")
    assert why_unavailable(card) == expected
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(AssayError, match=r"no folder \$ASSAY_DATA/tiny; check the value"):
        find_data(card)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    assert find_data(card) == tmp_path / "tiny"
    assert "lacks docs, queries.jsonl, judgments.jsonl" in why_unavailable(card)
