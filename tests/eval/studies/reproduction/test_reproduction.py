"""Published figures: the verdict on each, and what their file may say."""

import json

import pytest
from samples.published import read_facts, write_file
from tools.processes import ROOT

from assay.eval.report.renderers.markdown import render
from assay.eval.studies.reproduction.analysis import judge
from assay.eval.studies.reproduction.settings import PublishedFigure, Tolerance, load_settings
from assay.eval.studies.reproduction.study import report
from assay.retrievers.base import AssayError


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("close: 0.02", "close: 0.001", "tolerance: close: must be at least ok"),
        ("value: 0.75, s", "value: 1.75, s", "sets.fruit.figures.0.value: "),
        ("value: 0.75, s", "s", "sets.fruit.figures.0.value: "),
        ("R@100", "recall", "sets.fruit.figures.1: "),
        ("{system: other", "{system: othr", "sets.fruit.figures.4: there is no system othr; "),
        ("source: paper}", "source: book}", "sets.fruit.figures.4: there is no source book; "),
        ("[tokenizer]", "[stemmer]", "sets.fruit.figures.0: there is no reason stemmer; "),
        ("keyword.k1=2", "keyword.k9=2", "systems.other: "),
        ("https://example.org", "file:///example", "sources.paper.link: "),
        ("title: Fruit", "titel: Fruit", "sets.fruit.ti"),
        ("sets:", "sets: [", ""),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, before, after, message):
    path = write_file(tmp_path / "published.yaml")
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(AssayError) as caught:
        load_settings(path)
    assert str(caught.value).startswith(f"{path}: {message}" if message else f"{path}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (0.50504, "OK"),  # rounds to .0050, as published figures are rounded
        (0.50506, "close"),
        (0.48, "close"),
        (0.4799, "differs"),
        (1.0, "differs"),
    ],
)
def test_the_ends_of_the_tolerance_are_within(measured, verdict):
    figure = PublishedFigure(system="bm25", value=0.5, source="paper")
    assert judge(measured, figure, Tolerance(ok=0.005, close=0.02)) == verdict


def test_the_page_of_the_project_is_made_of_its_figures_and_of_the_file():
    facts = json.loads((ROOT / "docs" / "published.json").read_text())
    assert (ROOT / "docs" / "published.md").read_text() == render(report(read_facts(facts)))
    settings = load_settings(ROOT / "configs" / "published.yaml")
    assert {one["name"]: [(row["system"], row["measure"], row["value"]) for row in one["rows"]]
            for one in facts["sets"]} == {
        name: [(row.system, row.measure, row.value) for row in published.figures]
        for name, published in settings.sets.items()
    }  # fmt: skip
    assert facts["unexplained"] == 0
