"""What `assay components` lists of the configs."""

from assay.eval.configs.components import list_components


def test_configs_say_what_they_build_on():
    told = {item.name: item.summary for item in list_components() if item.key == "base"}
    based = {name: summary.split("; builds on ")[1:] for name, summary in told.items()}
    assert based["contextual"] == ["hybrid"]
    assert based["reranked"] == ["contextual"]
    assert based["hybrid"] == based["hybrid_rrf"] == []
    assert not {"gate", "targets", "published"} & set(told)
