"""What is written of engines: pages of hostile texts, and the page of all made of its JSON."""

import json
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from doubles.faulty_engines import FaultyEngine, fuse_by
from samples.parity import look, make_bench
from samples.report import HOSTILE

from assay.eval.configs.engine_settings import (
    ConfiguredEngine,
    list_features,
    list_met,
    read_engine,
)
from assay.eval.studies.stores.engines import page as engines
from assay.eval.studies.stores.engines.timing import TimingTable, time_systems
from assay.eval.studies.stores.parity import page as parity
from assay.eval.studies.stores.parity import running as experiment
from assay.eval.studies.stores.parity.results import Absence, Parity
from assay.eval.studies.stores.parity.running import deliver, read_request
from assay.eval.studies.stores.recall import page as recall
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.eval.studies.stores.recall.subjects import read_subject
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.engines.capabilities import LackError
from assay.retrievers.engines.formulas import ReciprocalRanks
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

DOCS = Path(__file__).parents[4] / "docs"
FACTS = engines.EngineFacts(list_features(), list_met())
LISTS = ["dense", "keyword", "native", "ours"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def honest(cache: Path) -> Parity:
    return look(cache)


@pytest.fixture(scope="module")
def lying(cache: Path) -> Parity:
    return look(cache, wrap=lambda engine: FaultyEngine(engine, fuse_by(ReciprocalRanks(2, 0))))


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_an_engine_that_does_what_it_says(honest: Parity) -> None:
    assert honest.verdict == "identical"
    assert honest.counts == {"identical": 8, "ties": 0, "different": 0}
    assert list(honest.quality.means) == [*LISTS, "hybrid"]
    assert list(honest.against) == ["hybrid", "ours", "better"]
    # Its default is the same fusion as ours.
    assert [item.difference.value for item in honest.quality.differences] == [0, 0, 0]
    assert honest.timing is not None
    assert all(item["p50"].value > 0 for item in honest.timing.systems.values())
    assert honest.recall == {}
    assert honest.command == "assay parity qdrant-edge harbour"


def test_a_wait_of_the_network_is_told_on_every_page(honest: Parity, tmp_path: Path) -> None:
    queries = range(30)

    def take(query: int) -> float:
        return 4 + 0.01 * query + 43 * (query % 2)

    systems = {"dense": take, "keyword": lambda query: 4 + 0.01 * query}
    assert time_systems(systems, queries, 30, Quiet(), server=False).delays == ()
    timing = time_systems(systems, queries, 30, Quiet(), server=True)
    (line,) = timing.delays
    assert line.startswith("dense: 50% of 30 queries take 43 ms longer than the others'")
    waiting = replace(honest, timing=replace(timing_of(honest), delays=timing.delays))
    written = unescape(parity.write(waiting, tmp_path).read_text())
    assert line in written
    assert "measures together, for all of which the intervals hold at once" in written
    page, _ = engines.write([waiting], [], FACTS, tmp_path)
    assert "TCP can delay acknowledgements" in page.read_text()
    assert parity.describe_waits(waiting) == [f"qdrant-edge: {line}"]


def timing_of(found: Parity) -> TimingTable:
    assert found.timing is not None
    return found.timing


def test_an_engine_that_lies_is_shown_with_examples(lying: Parity) -> None:
    assert lying.verdict == "explained: k (k = 2, not 61)"
    assert len(lying.examples) == 3
    example = lying.examples[0]
    assert (example.verdict, example.rank) == ("different", 1)
    first = example.places[0]
    assert (first.returned, first.expected) == (1, 1)
    assert first.returned_score is not None
    assert first.expected_score is not None
    assert first.returned_score > 10 * first.expected_score
    assert 1 in (first.dense, first.keyword)


def test_texts_of_others_stay_text(lying: Parity, tmp_path: Path) -> None:
    (example, *rest) = lying.examples
    hostile = replace(lying, examples=(replace(example, text=HOSTILE), *rest))
    page = parity.write(hostile, tmp_path).read_text()
    assert HOSTILE not in page
    assert "&lt;script&gt;window.hacked" in page
    assert {"img", "iframe"}.isdisjoint(Elements(page).tags)
    assert "k = 2, not 61" in page
    stored = json.loads((tmp_path / lying.id / "parity.json").read_text())
    assert stored["verdict"] == lying.verdict
    assert stored["diagnosis"]["share"] == 1.0
    assert {"family": "k", "label": "k = 2, not 61", "explained": 8} in stored["trials"]


def test_the_page_of_all_is_made_of_its_facts(
    honest: Parity, lying: Parity, tmp_path: Path
) -> None:
    absent = [Absence("opensearch", "harbour", "set OPENSEARCH_URL | <b>", failed=False)]
    page, facts = engines.write([honest, lying], absent, FACTS, tmp_path)
    assert page.read_text() == engines.render(json.loads(facts.read_text()))
    text = page.read_text()
    assert "Made by `assay parity --all harbour`." in text
    assert "explained: k (k = 2, not 61)" in text
    assert "; rrf with weights (3.1)" in text
    assert "set OPENSEARCH\\_URL \\| &lt;b&gt;" in text
    assert "sum over both lists of 1 / (61 + rank), ranks from 0" in text
    for name in LISTS:
        assert text.count(parity.NAMES[name]) >= 1
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_a_folder_that_cannot_be_written_is_told(honest: Parity, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssayError, match="cannot be written"):
        engines.write([honest], [], FACTS, tmp_path / "file")


def test_engines_that_are_measured_again_stand_beside_the_others(
    honest: Parity, lying: Parity, tmp_path: Path
) -> None:
    other = replace(honest, engine="sqlite", label="sqlite", created="2026-01-02T00:00:00+00:00")
    absent = [Absence(name, "harbour", "no address", failed=False) for name in ("qdrant", "milvus")]
    engines.write([other, honest], absent, FACTS, tmp_path)
    again = replace(lying, created="2026-02-03T00:00:00+00:00")
    page, facts = engines.write([again], absent[:1], FACTS, tmp_path, keep="all")
    found = json.loads(facts.read_text())
    assert [(item["label"], item["verdict"]) for item in found["parities"]] == [
        ("sqlite", "identical"),
        ("qdrant-edge", lying.verdict),
    ]
    assert sorted(item["engine"] for item in found["absent"]) == ["milvus", "qdrant"]
    assert page.read_text() == engines.render(found)
    assert "sqlite: measured on 2026-" in page.read_text()
    assert "qdrant-edge: measured on 2026-02-03" in page.read_text()
    assert "- milvus: no address; tested: by contract, never live\n" in page.read_text()
    with pytest.raises(AssayError, match=r"sqlite on harbour has queries 8, and qdrant-edge 7"):
        engines.write([replace(again, queries=7)], [], FACTS, tmp_path, keep="all")
    with pytest.raises(AssayError, match=r"has identity hashing, and qdrant-edge other"):
        engines.write([replace(again, identity="other")], [], FACTS, tmp_path, keep="all")
    assert json.loads(facts.read_text()) == found
    _, facts = engines.write([replace(again, queries=7)], [], FACTS, tmp_path, keep="fitting")
    assert [item["label"] for item in json.loads(facts.read_text())["parities"]] == ["qdrant-edge"]
    facts.write_text("{}")
    with pytest.raises(AssayError, match=r"made by another version"):
        engines.write([again], [], FACTS, tmp_path, keep="all")
    _, facts = engines.write([again], [], FACTS, tmp_path, keep="fitting")
    assert len(engines.read_rows(tmp_path)) == 1


def test_a_call_that_is_broken_off_loses_no_engine(
    honest: Parity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    last = replace(honest, engine="sqlite", label="sqlite")
    engines.write([replace(honest, queries=7, collection="old"), last], [], FACTS, tmp_path)

    def find(stop: bool) -> Iterator[Parity]:
        yield honest
        if stop:
            raise KeyboardInterrupt
        yield replace(last, created="2030-01-01T00:00:00+00:00")

    request = read_request(["harbourline"], every=True, output=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        deliver(find(stop=True), request, False, Quiet())
    rows = {(row["label"], row["collection"]) for row in engines.read_rows(tmp_path)}
    assert rows == {("qdrant-edge", "harbour"), ("sqlite", "harbour"), ("qdrant-edge", "old")}
    deliver(find(stop=False), request, False, Quiet())
    assert [row["label"] for row in engines.read_rows(tmp_path)] == ["qdrant-edge", "sqlite"]
    assert engines.read_rows(tmp_path)[1]["created"].startswith("2030")


def test_a_fusion_that_an_older_server_lacks_is_left_out(
    honest: Parity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine(_: object, configured: ConfiguredEngine, __: object) -> Parity:
        if configured.label == configured.type:
            raise LackError("qdrant-edge: 1.1 is too old")
        return honest

    monkeypatch.setattr(experiment, "open_bench", lambda *_: make_bench())
    monkeypatch.setattr(experiment, "_examine", examine)
    request = read_request(["harbourline"], every=True, only=["qdrant-edge"], output=tmp_path)
    absent, found = experiment.examine_all(request, None, Resources(Cache(tmp_path)))
    assert absent == Absence("qdrant-edge", "harbour", "qdrant-edge: 1.1 is too old", failed=False)
    assert found is honest


def test_the_curve_of_recall(cache: Path, tmp_path: Path) -> None:
    configured = read_engine("qdrant-edge", ["m=2", "ef_construct=4"])
    variants = list_variants(configured, "ef", [1, 64])
    assert [item.label for item in variants] == ["ef 1", "ef 64", "exact search"]
    curve = run_sweep(make_bench(), "ef", variants, "assay recall …", Resources(Cache(cache)))
    least, most, exact = curve.points
    assert exact.recall[10].value == exact.recall[100].value == 1
    assert least.recall[10].value <= most.recall[10].value <= 1
    assert least.latency[10]["p95"].value > 0
    assert exact.quality.n == len(make_bench().queries)
    page = recall.write(curve, tmp_path)
    tags = Elements(page.read_text()).tags
    assert tags.count("circle") == 2 * 3
    stored = json.loads((page.parent / "recall.json").read_text())
    assert [point["value"] for point in stored["points"]] == [1, 64, None]


def test_a_setting_that_no_approximate_index_heeds_is_refused(cache: Path) -> None:
    configured = read_engine("qdrant-edge", ["exact=true"])
    variants = list_variants(configured, "ef", [1])
    with pytest.raises(AssayError, match=r"searches exactly whatever ef is; .*hnsw"):
        run_sweep(make_bench(), "ef", variants, "", Resources(Cache(cache)))


def test_the_curve_of_the_dense_leg(cache: Path) -> None:
    variants = list_variants(read_subject("dense"), "quantisation", ["int8", "binary"])
    bench = make_bench()
    curve = run_sweep(bench, "quantisation", variants, "assay recall …", Resources(Cache(cache)))
    int8, binary, exact = curve.points
    assert exact.recall[10].value == exact.recall[100].value == 1
    assert binary.recall[10].value <= int8.recall[10].value <= 1
    assert (binary.bytes, exact.bytes) == (
        -(-bench.vectors.shape[1] // 8) * len(bench.texts),
        bench.vectors.nbytes,
    )


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["ef=1"], "dense: ef: allowed here: dimensions, quantisation, rescore"),
        (["quantisation=int4"], "dense: quantisation: .*int8"),
        (["rescore=5"], "dense: .*rescore: needs quantisation or dimensions"),
    ],
)
def test_what_the_dense_leg_cannot_be_told_is_one_line(overrides: list[str], message: str) -> None:
    with pytest.raises(AssayError, match=message):
        read_subject("dense", overrides)


def test_exact_search_is_no_value_of_the_curve(cache: Path) -> None:
    variants = list_variants(read_subject("dense"), "quantisation", ["none"])
    with pytest.raises(AssayError, match="one value of quantisation is exact search"):
        run_sweep(make_bench(), "quantisation", variants, "", Resources(Cache(cache)))


def test_the_page_in_the_docs_is_made_of_its_facts() -> None:
    facts = DOCS / engines.FACTS
    if not facts.exists():
        pytest.skip("docs/engines.json is not written yet; `assay parity --all --output docs`")
    found = json.loads(facts.read_text())
    assert (DOCS / engines.PAGE).read_text() == engines.render(found)
    assert (found["features"], found["met"]) == (list_features(), list_met())
