"""The rules every encoder and every cross-encoder keeps, as checks that any can be put to."""

import math
from collections.abc import Callable

import numpy as np

from assay.retrievers.conformance import make_rules, require
from assay.retrievers.conformance_sample import ODD_QUERIES, QUERIES
from assay.retrievers.models.base import CrossEncoder, Encoder

MakeEncoder = Callable[[], Encoder]
MakeCrossEncoder = Callable[[], CrossEncoder]

TEXTS = (*QUERIES, "", *ODD_QUERIES)
# What the texts of a batch may change of one another: quantised models round by the batch.
TOLERANCE = 1e-2


def vectors_are_of_unit_length(make: MakeEncoder) -> None:
    """Each text has a row of float32 of length 1, be it blank or odd, and a query one as long."""
    encoder = make()
    rows = encoder.encode_passages(TEXTS)
    require(rows.dtype == np.float32, f"vectors of {rows.dtype}")
    require(rows.ndim == 2 and len(rows) == len(TEXTS), f"shape {rows.shape}")
    queries = np.array([encoder.encode_query(text) for text in TEXTS])
    require(queries.shape == rows.shape, f"queries of shape {queries.shape}, not {rows.shape}")
    require(queries.dtype == np.float32, f"vectors of queries of {queries.dtype}")
    for found in (rows, queries):
        lengths = np.linalg.norm(found, axis=1)
        require(bool(np.allclose(lengths, 1, atol=1e-3)), f"of the lengths {lengths}")


def texts_are_encoded_apart(make: MakeEncoder) -> None:
    """A text's vector does not depend on those encoded with it."""
    encoder = make()
    rows = encoder.encode_passages(QUERIES)
    for text, row in zip(QUERIES, rows, strict=True):
        alone = encoder.encode_passages([text])[0]
        require(bool(np.allclose(row, alone, atol=TOLERANCE)), f"{text!r}: another vector alone")


def encoders_are_alike(make: MakeEncoder) -> None:
    """A second encoder has the same identity and gives the same vectors."""
    one, other = make(), make()
    require(bool(one.identity) and one.identity == other.identity, "another identity")
    same = np.array_equal(one.encode_passages(QUERIES), other.encode_passages(QUERIES))
    require(same, "other vectors of passages")
    for text in QUERIES:
        same = np.array_equal(one.encode_query(text), other.encode_query(text))
        require(same, f"{text!r}: another vector of a query")


def texts_are_told_apart(make: MakeEncoder) -> None:
    """Texts of other words have other vectors."""
    rows = make().encode_passages(QUERIES)
    require(len(np.unique(rows, axis=0)) == len(QUERIES), "several texts have one vector")


def each_text_has_a_score(make: MakeCrossEncoder) -> None:
    """A score per text, each a finite number; of no texts, none."""
    model = make()
    require(model.score(QUERIES[0], []) == [], "scores of no texts")
    for query in TEXTS:
        scores = model.score(query, TEXTS)
        require(len(scores) == len(TEXTS), f"{len(scores)} scores of {len(TEXTS)} texts")
        require(all(map(math.isfinite, scores)), f"{query[:40]!r}: a score is infinite")


def pairs_are_scored_apart(make: MakeCrossEncoder) -> None:
    """The score of a pair does not depend on the other texts of the call, unless it says so."""
    model = make()
    if model.listwise:
        return
    scores = model.score(QUERIES[0], QUERIES)
    for text, score in zip(QUERIES, scores, strict=True):
        (alone,) = model.score(QUERIES[0], [text])
        near = math.isclose(score, alone, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        require(near, f"{text!r}: {score} among others, {alone} alone")


def cross_encoders_are_alike(make: MakeCrossEncoder) -> None:
    """A second cross-encoder has the same identity and gives the same scores."""
    one, other = make(), make()
    require(bool(one.identity) and one.identity == other.identity, "another identity")
    scores = one.score(QUERIES[0], QUERIES), other.score(QUERIES[0], QUERIES)
    require(scores[0] == scores[1], "other scores")


ENCODER_RULES = make_rules(
    vectors_are_of_unit_length,
    texts_are_encoded_apart,
    encoders_are_alike,
    texts_are_told_apart,
)
CROSS_ENCODER_RULES = make_rules(
    each_text_has_a_score,
    pairs_are_scored_apart,
    cross_encoders_are_alike,
)
