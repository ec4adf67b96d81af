import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.duckdb.engine import DuckDbEngine, DuckDbSettings
from assay.retrievers.engines.duckdb.file import APPROXIMATE, EXACT, open_file, start
from assay.retrievers.engines.duckdb.settings import Stemmer
from assay.retrievers.engines.statements import LIST
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("duckdb", "duckdb")
skip_without("duckdb_extension_fts", "duckdb")
PLAIN = {"stemmer": "none", "stop_words": "none"}


def index(cache: Path, texts: list[str], **settings: Any) -> tuple[DuckDbEngine, tuple[str, ...]]:
    chosen = DuckDbSettings.model_validate({"type": "duckdb", **settings})
    engine = chosen.build(Resources(Cache(cache)))
    report = engine.index(texts, np.stack([encode(text) for text in texts]), "hashing")
    return engine, report.cached


def score_bm25(texts: list[str], query: str, k1: float, b: float) -> dict[int, float]:
    """Compute what the macro match_bm25 of the extension adds up."""
    counts = [Counter(re.findall(r"[^\W_]+", text.lower())) for text in texts]
    average = sum(sum(count.values()) for count in counts) / len(texts)
    scores: Counter[int] = Counter()
    for term in set(query.split()):
        found = sum(term in count for count in counts)
        idf = math.log10((len(texts) - found + 0.5) / (found + 0.5) + 1)
        for i, count in enumerate(counts):
            if tf := count[term]:
                length = 1 - b + b * sum(count.values()) / average
                scores[i] += idf * tf * (k1 + 1) / (tf + k1 * length)
    return dict(scores)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.5, 1.0)])
def test_keyword_is_bm25_with_the_constants_that_were_set(cache: Path, k1: float, b: float) -> None:
    texts = real_texts()
    engine, _ = index(cache, texts, bm25={"k1": k1, "b": b, **PLAIN})
    for query in ("parser", "the parser prefix", "the the"):
        expected = score_bm25(texts, query, k1, b)
        assert len(expected) > 5
        assert dict(engine.keyword(query, 1000)) == pytest.approx(expected, abs=1e-8)
    engine.close()


def test_what_analyses_builds_anew_and_what_weighs_does_not(cache: Path) -> None:
    texts = ["the ferry runs on pier 17", "Fähre 日本語", "an anchor"]

    def found(query: str, **bm25: Any) -> tuple[set[int], tuple[str, ...]]:
        engine, cached = index(cache, texts, bm25=bm25)
        positions = {i for i, _ in engine.keyword(query, 9)}
        engine.close()
        return positions, cached

    assert found("running") == ({0}, ())
    assert found("17 fahre 日本語", k1=2.0, b=0.1) == ({0, 1}, ("engine",))
    assert found("the on an") == (set(), ("engine",))
    assert found("the on an", stop_words="none") == ({0, 2}, ())
    assert found("running", stemmer="none") == (set(), ())
    assert found("fahre fähre", strip_accents=False) == ({1}, ())
    assert found("fahre", strip_accents=False) == (set(), ("engine",))
    assert found("17", ignore=r"(\.|[^a-z])+") == (set(), ())


def test_a_wrong_expression_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"^engine duckdb: .*missing \)") as caught:
        index(tmp_path, ["ferry"], bm25={"ignore": "("})
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("duckdb/*/assay.json"))


def test_every_stemmer_is_known() -> None:
    import duckdb

    _, *names = get_args(Stemmer)
    database = start(1, EXACT)
    for name in names:
        database.execute("SELECT stem('ferries', $name)", {"name": name}).fetchall()
    with pytest.raises(duckdb.Error):
        database.execute("SELECT stem('ferries', 'klingon')").fetchall()
    settings = "name LIKE 'auto%known_extensions'"
    values = database.execute(f"SELECT value FROM duckdb_settings() WHERE {settings}").fetchall()
    assert values == [("false",), ("false",)]
    database.close()


def test_the_graph_is_used_and_its_recall_measured(cache: Path) -> None:
    texts = real_texts()
    exact, _ = index(cache, texts)
    assert "recall_against_exact" not in exact.metadata()
    exact.close()

    def measure(**settings: int) -> tuple[float, tuple[str, ...]]:
        engine, cached = index(cache, texts, exact=False, **settings)
        recall = engine.metadata()["recall_against_exact"]
        engine.close()
        return recall, cached

    poor, _ = measure(m=4, ef_construction=4)
    wide, cached = measure(m=4, ef_construction=4, ef_search=350)
    good, _ = measure()
    assert 0 < poor < wide <= good <= 1
    assert cached == ("engine",)


@pytest.mark.parametrize("exact", [True, False])
def test_the_plan_of_the_statement(cache: Path, exact: bool) -> None:
    engine, _ = index(cache, real_texts(), exact=exact)
    select = engine._select_dense(encode("parser"), 10)
    (file,) = (
        path
        for path in cache.glob("duckdb/*/store.duckdb")
        if path.parent.name == engine._key(real_texts(), "hashing")
    )
    database = open_file(file, 1, EXACT if exact else APPROXIMATE)
    database.execute("USE store")
    statement = "EXPLAIN " + LIST.format(found=select.statement)
    plan = database.execute(statement, select.parameters).fetchall()[0][1]
    assert ("HNSW_INDEX_SCAN" in plan) is not exact
    database.close()
    engine.close()


def test_extensions_of_another_version_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    monkeypatch.setattr(duckdb, "__version__", "9.9.9")
    with pytest.raises(AssayError, match=r"duckdb-extension-fts is of another version than duckdb"):
        index(tmp_path, ["ferry"])


def test_equal_evidence_is_ordered_by_position(tmp_path: Path) -> None:
    """Two threads add the terms of equal texts up in any order."""
    words = [f"word{number}" for number in range(12)]
    texts = [f"{' '.join(words)} {' '.join(words[: i % 2 * 7])} {i}" for i in range(6000)]
    engine = DuckDbSettings(type="duckdb").build(Resources(Cache(tmp_path), threads=2))
    engine.index(texts, np.full((len(texts), 4), 0.5, np.float32), "constant")
    found = [i for i, _ in engine.keyword(" ".join(words), len(texts))]
    even, odd = range(0, len(texts), 2), range(1, len(texts), 2)
    assert found in ([*even, *odd], [*odd, *even])
    engine.close()
