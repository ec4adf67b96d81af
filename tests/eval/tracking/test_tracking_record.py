import re
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.eval.runs.config_keys import flatten
from assay.eval.tracking import metric_name, redact
from assay.eval.tracking.record import WITH_PARAMETERS


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("nDCG@10", "nDCG_at_10"),
        ("Hit@5", "Hit_at_5"),
        ("Recall@2000tok", "Recall_at_2000tok"),
        ("RBP(p=0.8)@10", "RBP_p_0.8_at_10"),
        ("nDCG(dcg='exp-log2')@5", "nDCG_dcg_exp-log2_at_5"),
        ("AP(rel=2)", "AP_rel_2"),
        ("retriever.legs.0.max_query_terms", "retriever.legs.0.max_query_terms"),
    ],
)
def test_metric_names(measure, name):
    assert metric_name(measure) == name


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("AP_rel_2", "AP_rel_2"),
        ("AP(rel='2')", "AP_rel_2"),
        ("nDCG_at_10", "nDCG_at_10"),
        ("terms:β", "terms"),
    ],
)
def test_a_name_that_loses_marks_ends_with_a_digest(measure, words):
    assert re.fullmatch(rf"{re.escape(words)}-[0-9a-f]{{8}}", metric_name(measure))


def to_words(measure):
    """Return what is left of a measure in a name."""
    return re.sub(r"[('),=]+", "_", measure.replace("@", "_at_")).strip("_")


KEYS = st.text(
    st.sampled_from("aP_@./ -é:(=2)',") | st.characters(codec="utf-8"), min_size=1, max_size=300
)
MEASURES = st.from_regex(WITH_PARAMETERS, fullmatch=True)
ALIKE = [
    "AP(rel=2)", "AP_rel_2", "AP(rel='2')", "AP(rel=\u0662)", "AP(a='b',c='d')", "AP(a='b_c_d')",
    "a@1", "a_at_1", "a", "_a", "a_", "é", "è", "x" * 300, "x" * 301,
]  # fmt: skip


@example(ALIKE)
@given(st.lists(KEYS | MEASURES | MEASURES.map(to_words), min_size=2, unique=True))
def test_no_two_keys_have_one_name_in_mlflow(keys):
    from mlflow.utils import validation

    names = [metric_name(key) for key in keys]
    assert len(set(names)) == len(keys)
    for name in names:
        validation._validate_metric_name(f"difference/{name}/{name}.high")
        validation._validate_param_name(name)


def test_flattening_keeps_every_leaf():
    values = {"a": {"b": 1, "c": {}}, "d": [{"e": True}, {"e": None}], "f": ["x", 2], "g": "text"}
    assert dict(flatten(values)) == {
        "a.b": "1",
        "a.c": "{}",
        "d.0.e": "true",
        "d.1.e": "null",
        "f": '["x", 2]',
        "g": "text",
    }


SECRET = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1).map("S3CRET{}".format)


@given(SECRET, SECRET, st.sampled_from(["http", "https", "postgresql", "mysql+pymysql"]))
def test_redact_leaves_no_secret(user, password, scheme):
    uri = f"{scheme}://{user}:{password}@host:5000/path?password={quote(password)}"
    assert redact(uri) == f"{scheme}://host:5000/path"
    assert redact(f"calling {uri} failed") == f"calling {scheme}://host:5000/path failed"


@pytest.mark.parametrize(
    "uri", ["sqlite:////data/a@b/mlflow.db", "http://127.0.0.1:5000", "databricks"]
)
def test_redact_leaves_plain_addresses(uri):
    assert redact(uri) == uri
