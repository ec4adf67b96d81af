"""BEIR folders and ir_datasets: what is read, and what is refused."""

import gzip
import json
import re
import sys
from pathlib import Path

import pytest

from assay.eval.collections.catalog import parse_card
from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats.irds import IrdsCard, make_document
from assay.eval.collections.formats.rows import RowError, parse_json_row
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError, Context, Document, Passage


def write_jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def beir(tmp_path):
    (tmp_path / "qrels").mkdir()
    write_jsonl(
        tmp_path / "corpus.jsonl",
        {"_id": "b", "title": "Tides", "text": "High water comes twice a day.", "metadata": {}},
        {"_id": "a", "text": "Low water uncovers the slip."},
    )
    write_jsonl(
        tmp_path / "queries.jsonl",
        {"_id": "q2", "text": "when is the slip dry", "metadata": {"type": "fact"}},
        {"_id": "q1", "text": "how often high water"},
        {"_id": "q9", "text": "never judged"},
    )
    (tmp_path / "qrels/test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\tb\t2\nq1\ta\t0\nq2\ta\t1\n"
    )
    (tmp_path / "qrels/dev.tsv").write_text("query-id\tcorpus-id\tscore\nq9\tb\t1\n")
    return tmp_path


def test_a_beir_row_is_a_document_of_one_passage_and_a_variant_has_other_judgments(beir):
    collection = load(str(beir))
    first, second = collection.documents
    assert (first.id, first.title, second.id) == ("b", "Tides", "a")
    assert first.passages == (Passage("b", 0, len(first.text), "Tides"),)
    assert [query.id for query in collection.queries] == ["q2", "q1"]
    assert [query.type for query in collection.queries] == ["fact", ""]
    assert collection.gold["q1"] == (
        GoldItem("q1", "b", "b", 0, len(first.text), 2, "b"),
        GoldItem("q1", "a", "a", 0, len(second.text), 0, "a"),
    )
    assert set(collection.gold) == {"q1", "q2"}
    other = load(f"{beir}:dev")
    assert [query.id for query in other.queries] == ["q9"]
    assert other.name.endswith(":dev")
    assert load(f"{beir}:test").name == load(str(beir)).name
    with pytest.raises(AssayError, match="no judgments 'train'; allowed: test, dev"):
        load(f"{beir}:train")


def pack(path):
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def test_packed_files_are_read_as_they_are(beir):
    plain = load(str(beir))
    for path in [*beir.glob("*.jsonl"), *beir.glob("qrels/*.tsv")]:
        pack(path)
    packed = load(str(beir))
    assert (packed.documents, packed.queries, packed.gold) == (
        plain.documents,
        plain.queries,
        plain.gold,
    )
    assert packed.digest == plain.digest
    (beir / "queries.jsonl.gz").write_bytes(b"no archive")
    with pytest.raises(AssayError, match=r"queries\.jsonl\.gz: cannot be unpacked"):
        load(str(beir))


@pytest.mark.parametrize(("written", "grade"), [("2.0", 2), ("0.0", 0), ("0.5", None), ("x", None)])
def test_grades_with_a_fraction_are_whole_numbers_or_refused(beir, written, grade):
    (beir / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\nq1\tb\t{written}\n")
    if grade is None:
        with pytest.raises(
            AssayError, match=f"score must be a whole number of at most .*, not '{written}'"
        ):
            load(str(beir))
    else:
        assert load(str(beir)).gold["q1"][0].grade == grade


WHOLE = "fn a() {}\n// end\nfn b() {}\n// end\n"


@pytest.fixture
def parted(tmp_path):
    """A BEIR folder whose rows are passages of a whole document, in the wrong order."""
    (tmp_path / "qrels").mkdir()
    rows = [("c3", "// end", 3), ("c0", "fn a() {}", 0), ("c2", "fn b() {}", 2)]
    rows += [("c1", "// end", 1), ("lost", "fn c() {}", 4)]
    write_jsonl(
        tmp_path / "corpus.jsonl",
        *(
            {"_id": name, "text": text, "metadata": {"doc_id": "d", "original_index": index}}
            for name, text, index in rows
        ),
    )
    write_jsonl(tmp_path / "docs.jsonl", {"_id": "d", "text": WHOLE}, {"_id": "e", "text": "free"})
    write_jsonl(tmp_path / "queries.jsonl", {"_id": "q", "text": "second end"})
    write_jsonl(tmp_path / "contexts.jsonl", {"_id": "c3", "context": "the last line"})
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tc3\t1\n")
    (tmp_path / "dataset.yaml").write_text(
        f"name: {tmp_path.name}\ntitle: parted\nformat: beir\nwhole_documents: docs.jsonl\n"
        "contexts: contexts.jsonl\n"
    )
    return tmp_path


def test_rows_become_passages_of_whole_documents_where_they_overlap_too(parted):
    collection = load(str(parted))
    whole, alone = collection.documents
    places = {passage.id: (passage.start, passage.end) for passage in whole.passages}
    assert list(places) == ["c0", "c1", "c2", "c3"]
    assert places["c1"] == (10, 16)
    assert places["c3"] == (27, 33), "text that occurs twice is placed in order"
    assert whole.contexts == (Context(27, 33, "the last line"),)
    assert collection.gold["q"][0] == GoldItem("q", "c3", "d", 27, 33, 1, "c3")
    assert (alone.id, alone.text) == ("lost", "fn c() {}")
    write_jsonl(
        parted / "corpus.jsonl",
        {"_id": "c0", "text": WHOLE[:20], "metadata": {"doc_id": "d", "original_index": 0}},
        {"_id": "c3", "text": WHOLE[12:30], "metadata": {"doc_id": "d", "original_index": 1}},
    )
    (document,) = load(str(parted)).documents
    assert [(item.start, item.end) for item in document.passages] == [(0, 20), (12, 30)]


@pytest.mark.parametrize(
    "value",
    [
        r'"\ud83d\ude00 \u0000\/é"',
        "-0",
        "-0.0",
        "1E400",
        "[0.30000000000000004441, 9007199254740993, 5e-324, 123456789012345678901234567890]",
        "[NaN, -Infinity]",
        '{"b": 1, "a": {"b": "\\":"}, "c": "\\"b\\":"}',
        "[" * 190 + "]" * 190,
    ],
)
def test_a_row_holds_what_json_reads(value):
    text = f' {{"k": {value}}}\t'
    assert repr(parse_json_row(Path("x"), 1, text).values) == repr(json.loads(text))


@pytest.mark.parametrize(
    "value",
    ["01", "1.", ".5", "+1", '"\t"', r'"\x"', "[1,]", "nan", "1" * 5000, '{"b": 1, "b": 3}'],
)
def test_a_row_that_json_does_not_read_is_none(value):
    with pytest.raises(RowError, match=r"^not JSON"):
        parse_json_row(Path("x"), 1, f'{{"k": {value}}}')


BROKEN = {
    "key twice": (
        "corpus.jsonl",
        '{"_id": "c", "text": "\\"text\\":", "text": "y"}',
        'corpus.jsonl:3: not JSON that can be read: the key "text" stands twice',
    ),
    "key twice within": (
        "queries.jsonl",
        '{"_id": "q", "text": "x", "metadata": {"a": 1, "\\u0061": 2}}',
        'queries.jsonl:4: not JSON that can be read: the key "a" stands twice',
    ),
    "not JSON": ("corpus.jsonl", '{"_id": "c", "text": "x"', "corpus.jsonl:3: not JSON: "),
    "half a character": (
        "corpus.jsonl",
        r'{"_id": "c", "text": "\ud83d"}',
        "corpus.jsonl:3: holds half a surrogate pair",
    ),
    "no object": ("corpus.jsonl", "[1]", "corpus.jsonl:3: not a JSON object"),
    "no id": ("corpus.jsonl", '{"text": "x"}', 'corpus.jsonl:3: key "_id" is missing'),
    "wrong type": (
        "queries.jsonl",
        '{"_id": 7, "text": "x"}',
        'queries.jsonl:4: "_id" must be a string, not a whole number',
    ),
    "no text": (
        "queries.jsonl",
        '{"_id": "q7", "text": " "}',
        'queries.jsonl:4: query "q7" has no',
    ),
    "taken id": (
        "queries.jsonl",
        '{"_id": "q1", "text": "x"}',
        'queries.jsonl:4: query id "q1" is taken by line 2',
    ),
    "columns": ("qrels/test.tsv", "q1\ta", "qrels/test.tsv:5: 2 columns; there must be 3"),
    "grade": ("qrels/test.tsv", "q1\ta\thigh", "test.tsv:5: score must be a whole number"),
    "query": (
        "qrels/test.tsv",
        "q8\ta\t1",
        'test.tsv:5: there is no query "q8"; the first one there is "q2"',
    ),
    "two grades": ("qrels/test.tsv", "q1\ta\t2", 'test.tsv:5: "a" has grade 2 here and 0 before'),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_line_is_named(beir, case):
    name, line, message = BROKEN[case]
    with (beir / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(AssayError) as caught:
        load(str(beir))
    assert str(beir / Path(message.split(":")[0]).parent) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("topic", "judged"), [("051", "51"), ("51", "051"), ("q-07", "q-7"), ("0", "000")]
)
def test_ids_that_differ_by_leading_zeros_are_told(beir, topic, judged):
    write_jsonl(beir / "queries.jsonl", {"_id": topic, "text": "how often high water"})
    (beir / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}\tb\t2\n")
    told = f'test.tsv:2: there is no query "{judged}" but "{topic}": the files differ by leading'
    with pytest.raises(AssayError, match=f"{re.escape(told)} zeros; write such ids alike in both"):
        load(str(beir))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qrels/test.tsv", b"q1\tb\t1\n", "test.tsv:1: the first line must be the header"),
        ("queries.jsonl", b'{"_id": "q1", "text": "x"}\n{"\xff"}\n', "queries.jsonl:2: not UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_named(beir, name, content, message):
    (beir / name).write_bytes(content)
    with pytest.raises(AssayError, match=message):
        load(str(beir))


def test_grades_below_the_least_count_as_zero(beir):
    (beir / "dataset.yaml").write_text("name: x\ntitle: x\nformat: beir\nmin_grade: 2\n")
    gold = load(str(beir)).gold
    assert [item.grade for item in gold["q1"]] == [2, 0]
    assert [item.grade for item in gold["q2"]] == [0]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("qrels/test.tsv", "q2\ta\t1", "q2\ta\t2"),
        ("queries.jsonl", "slip dry", "slip wet"),
        ("corpus.jsonl", "twice", "once"),
        ("corpus.jsonl", "Tides", "Tide"),
    ],
)
def test_the_digest_notices_every_part(beir, name, old, new):
    before = load(str(beir)).digest
    text = (beir / name).read_text()
    assert old in text
    (beir / name).write_text(text.replace(old, new))
    assert load(str(beir)).digest != before


def test_a_data_set_of_ir_datasets(tmp_path, monkeypatch):
    """The real library serves local files: no download is needed for its machinery."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    irds = pytest.importorskip("ir_datasets")
    from ir_datasets.datasets.beir import BeirTitleDoc
    from ir_datasets.datasets.vaswani import QREL_DEFS
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    (tmp_path / "docs.tsv").write_text("d1\tHigh water.\tTides\nd2\tLow water.\t\n")
    (tmp_path / "queries.tsv").write_text("7\thigh water\n8\tunjudged\n")
    (tmp_path / "qrels.txt").write_text("7 0 d1 1\n7 0 gone 1\n")
    name = f"assay-test-{tmp_path.name}"
    irds.registry.register(
        name,
        irds.Dataset(
            TsvDocs(LocalDownload(tmp_path / "docs.tsv"), doc_cls=BeirTitleDoc),
            TsvQueries(LocalDownload(tmp_path / "queries.tsv")),
            TrecQrels(LocalDownload(tmp_path / "qrels.txt"), QREL_DEFS),
        ),
    )
    collection = load(f"irds:{name}")
    first, second = collection.documents
    assert (first.id, first.title, first.text) == ("d1", "Tides", "High water.")
    assert second.passages == (Passage("d2", 0, 10),)
    assert [query.text for query in collection.queries] == ["high water"]
    assert [(item.id, item.doc_id, item.grade) for item in collection.gold["7"]] == [
        ("d1", "d1", 1),
        ("gone", "gone", 1),
    ]


def test_the_card_of_miracl_names_what_ir_datasets_has(tmp_path, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    irds = pytest.importorskip("ir_datasets")
    page = (Path(__file__).parents[3] / "docs" / "collections.md").read_text()
    (text,) = re.findall(r"```yaml\n(name: miracl_.*?)```", page, re.DOTALL)
    card = parse_card(text, tmp_path / "miracl_ja" / "dataset.yaml")
    assert isinstance(card, IrdsCard)
    dataset = irds.load(card.location.removeprefix("irds:"))
    record = dataset.docs_cls()("12#0", "潮", "満潮は一日に二度ある。")
    assert make_document(record) == Document(
        "12#0", "満潮は一日に二度ある。", "潮", (Passage("12#0", 0, 11, "潮"),)
    )
    assert dataset.queries_cls()._fields == ("query_id", "text")
    assert dataset.qrels_cls()._fields[:3] == ("query_id", "doc_id", "relevance")


def test_ir_datasets_missing_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(AssayError, match="needs the extra `irds`: make extra NAME=irds"):
        load("irds:vaswani")


def test_an_unknown_id_of_ir_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    pytest.importorskip("ir_datasets")
    with pytest.raises(AssayError, match="irds:no/such: ir_datasets knows no such data set"):
        load("irds:no/such")
