"""Legs beside their fusion, on runs whose lists are known."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.report import make_run

from assay.eval.report.markdown import coded
from assay.eval.report.run_page import page as report
from assay.eval.runs.manifest import describe_unread
from assay.eval.runs.summary.legs_alone import LegAlone, score_legs
from assay.eval.runs.summary.summary import summarise
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.page import write
from assay.retrievers.base import IndexReport

LEG = LegAlone(
    "keyword",
    "nDCG@10",
    scored=Estimate(0.6, 0.5, 0.7, 50),
    fused=Estimate(0.55, 0.5, 0.6, 50),
    gain=Estimate(0.05, 0.01, 0.09, 50),
)


def test_a_leg_scores_what_it_does_without_the_others_where_there_was_a_fusion(tmp_path):
    both = make_run(tmp_path)
    legs = {item.leg: item for item in score_legs(both, "nDCG@10")}
    assert list(legs) == ["words", "letters"]
    fused = summarise(both).means["nDCG@10"]
    for name, item in legs.items():
        alone = summarise(make_run(tmp_path, name=name, legs=(name,))).means["nDCG@10"]
        assert item.scored == alone
        assert item.fused == fused
        assert item.gain.value == pytest.approx(alone.value - fused.value)
    run = make_run(tmp_path, legs=("words",))
    rankings = {
        query: replace(ranking, trace=tuple(item for item in ranking.trace if item.kind == "leg"))
        for query, ranking in run.rankings.items()
    }
    assert score_legs(replace(run, rankings=rankings), "nDCG@10") == ()


def test_the_figures_are_told_and_how_sure_they_are():
    assert LEG.words == (
        "The leg keyword alone does better than the fusion: nDCG@10 0.600 against 0.550, +0.050 "
        "(95 % interval +0.010 … +0.090). Use that leg alone, or fit the fusion: `assay tune`"
    )
    unsure = replace(LEG, gain=Estimate(0.05, -0.01, 0.09, 50))
    assert unsure.words == (
        "The leg keyword alone did better here than the fusion: nDCG@10 0.600 against 0.550, "
        "+0.050 (95 % interval -0.010 … +0.090). That may be chance; `assay tune` fits the fusion"
    )


def make_leg_better(run):
    """Return the run with every fused list turned round."""
    rankings = {
        query: replace(
            ranking,
            trace=tuple(
                replace(item, candidates=item.candidates[::-1]) if item.kind == "fusion" else item
                for item in ranking.trace
            ),
        )
        for query, ranking in run.rankings.items()
    }
    return replace(run, rankings=rankings)


def test_the_report_warns_of_a_leg_that_does_better_and_of_chunks_read_in_part(tmp_path):
    run = make_leg_better(make_run(tmp_path))
    index = replace(run.manifest.index, facts={"unread": 3, "window": 512})
    manifest = run.manifest.model_copy(update={"index": index})
    summary = summarise(replace(run, manifest=manifest))
    first, *_, last = summary.cautions
    assert first.startswith("The leg words alone d")
    assert last == describe_unread(index)
    page = report.write(summary)
    for text in (page.read_text(), page.with_name("report.md").read_text()):
        assert "The leg words alone d" in text
        assert "3 (the encoder reads 512 tokens)" in text
    assert "Lower <code>max_tokens</code>, or set <code>windows: max</code>" in page.read_text()
    assert not find_ticks(page)
    other = make_run(tmp_path, name="words", legs=("words",))
    compared = compare([summary.run, other], ["nDCG@10"])
    assert f"two_legs: {last}" in compared.warnings
    page = write(compared, tmp_path)
    assert "<code>windows: max</code>" in page.read_text()
    assert not find_ticks(page)


def find_ticks(page):
    """Return what a page shows between backticks, its scripts apart."""
    shown = re.sub(r"<(script|style|pre)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
    return re.findall(r"`[^`]*`", shown)


@given(st.text(st.sampled_from('`<&ab \n"') | st.characters()))
def test_what_stands_between_backticks_is_code_and_nothing_else_a_tag(text):
    html = str(coded(text))
    assert re.findall(r"<[^>]*>", html) == ["<code>", "</code>"] * html.count("<code>")
    assert unescape(re.sub(r"</?code>", "`", html)) == text
    assert not re.search(r"`[^`\n]+`", unescape(re.sub(r"<code>.*?</code>", "\n", html)))


def test_chunks_read_in_part_are_told():
    facts = {"unread": 12, "window": 512}
    index = IndexReport(1300, facts=facts)
    assert describe_unread(index) == (
        "12 of 1,300 chunks are longer than the encoder's 512 tokens; the rest is "
        "ignored. Lower `max_tokens`, or set `windows: max`"
    )
    for none in ({}, {"unread": 0, "window": 512}):
        assert describe_unread(replace(index, facts=none)) == ""
