import math
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, encode
from assay.retrievers.engines.servers.pool import Pool
from assay.retrievers.engines.stores import sqlite
from assay.retrievers.engines.stores.sqlite import SqliteSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("apsw", "sqlite")
skip_without("sqlite_vec", "sqlite")


def index(cache, texts, **settings):
    engine = SqliteSettings(type="sqlite", **settings).build(Resources(Cache(cache)))
    engine.index(texts, np.stack([encode(text) for text in texts]), "hashing")
    return engine


def score_bm25(texts, query):
    """Compute what FTS5's documents say that bm25() is."""
    counts = [Counter(re.findall(r"[^\W_]+", text.lower())) for text in texts]
    average = sum(sum(count.values()) for count in counts) / len(texts)
    scores = Counter()
    for term in set(query.split()):
        found = sum(term in count for count in counts)
        idf = max(math.log((len(texts) - found + 0.5) / (found + 0.5)), 1e-6)
        for i, count in enumerate(counts):
            if tf := count[term]:
                length = 1 - 0.75 + 0.75 * sum(count.values()) / average
                scores[i] += idf * tf * 2.2 / (tf + 1.2 * length)
    return dict(scores)


@pytest.mark.parametrize("query", ["parser", "the parser prefix", "the", "the the the"])
def test_keyword_is_the_bm25_of_fts5s_documents(cache, query):
    texts = real_texts()
    engine = index(cache, texts, tokenizer="unicode61")
    expected = score_bm25(texts, query)
    assert len(expected) > 5
    assert (engine.metadata()["k1"], engine.metadata()["b"]) == (1.2, 0.75)
    assert dict(engine.keyword(query, 1000)) == pytest.approx(expected)
    engine.close()


@pytest.mark.parametrize(
    ("tokenizer", "query", "found"),
    [
        ("porter unicode61", "runs", {0, 1}),
        ("unicode61", "runs", set()),
        ("unicode61", "running", {1}),
        ("trigram", "runs", set()),
        ("trigram", "run", {0, 1, 2}),
        ("trigram", "XRunner ru", {2}),
        ("trigram", "本語", set()),
        ("trigram", "日本語", {3}),
        ("porter unicode61", "zurich", {3}),
        ("trigram", "zurich", {3}),
    ],
)
def test_tokenizers(tmp_path, tokenizer, query, found):
    texts = ["they run", "running", "xrunner", "in Zürich 日本語"]
    for folded in (True, False):
        engine = index(tmp_path, texts, tokenizer=tokenizer, remove_diacritics=folded)
        expected = found if folded or query != "zurich" else set()
        assert {i for i, _ in engine.keyword(query, 9)} == expected
        assert {i for i, _ in engine.keyword("ZÜRICH", 9)} == {3}
        engine.close()


def test_a_term_counts_once_however_it_is_written(cache):
    engine = index(cache, list(TEXTS))
    once = engine.keyword("winter ferry", 50)
    assert once
    assert engine.keyword("Winter's ferries' FERRY winter", 50)[0][1] >= once[0][1]
    assert engine.keyword("WINTER ferry ferries, ferry", 50) == once
    engine.close()


def test_dense_lists_may_be_longer_than_vec0_gives(cache, monkeypatch):
    engine = index(cache, list(TEXTS))
    queries = [encode(query) for query in QUERIES]
    expected = [engine.dense(query, 200) for query in queries]
    assert {len(found) for found in expected} == {len(TEXTS)}
    monkeypatch.setattr(sqlite, "MOST_NEIGHBOURS", 10)
    assert [engine.dense(query, 200) for query in queries] == expected
    monkeypatch.undo()
    assert len(engine.dense(queries[0], sqlite.MOST_NEIGHBOURS)) == len(TEXTS)
    assert engine.dense(queries[0], sqlite.MOST_NEIGHBOURS + 1) == expected[0]
    engine.close()


def test_vectors_that_are_too_long_are_told_in_one_line(tmp_path):
    engine = SqliteSettings(type="sqlite").build(Resources(Cache(tmp_path)))
    with pytest.raises(AssayError, match=r"^engine sqlite: .*maximum 8192$"):
        engine.index(["ferry"], np.ones((1, 9000), np.float32), "hashing")
    assert not list(tmp_path.glob("sqlite/*/assay.json"))


def test_threads_have_a_connection_each_and_no_more():
    class Connection:
        users = 0
        closed = False

        def close(self):
            self.closed = True

    opened = []

    def connect():
        opened.append(Connection())
        return opened[-1]

    def use(_):
        with pool.lend() as connection:
            connection.users += 1
            users = connection.users
            connection.users -= 1
            return users

    pool = Pool(connect)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(use, range(400))) == {1}
    assert 1 <= len(opened) <= 4
    pool.close()
    assert all(connection.closed for connection in opened)
