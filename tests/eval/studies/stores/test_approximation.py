"""What runs of approximate engines tell, wherever a run is told of."""

from dataclasses import replace

from samples.report import make_run

from assay.eval.cli.run import print_summary
from assay.eval.report.run_page import page as report
from assay.eval.runs.ann_recall import find_recalls
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking.record import describe

FACTS = {
    "legs": {
        "native": {"engine": {"exact": False, "recall_against_exact": 0.8664}},
        "dense": {"search": "binary", "recall_against_exact": 0.71},
        "exact": {"engine": {"exact": True}},
        "keyword": {"library": "bm25s"},
    }
}


def test_the_recall_of_each_approximate_leg_is_found_and_other_facts_tell_nothing():
    assert find_recalls(FACTS) == {"native": 0.8664, "dense": 0.71}
    for facts in ({}, {"legs": None}, {"legs": {"a": "b", "c": {"engine": "d"}}}):
        assert find_recalls(facts) == {}


def test_it_is_printed_reported_and_logged(tmp_path, capsys):
    run = make_run(tmp_path)
    run = replace(run, manifest=run.manifest.model_copy(update={"facts": FACTS}))
    summary = summarise(run)
    told = "dense search is approximate: recall@100 against exact search 0.866"
    page = report.write(summary)
    assert told in page.read_text()
    assert told in page.with_suffix(".md").read_text()
    print_summary(summary, full=True)
    assert f"native: {told}" in capsys.readouterr().out
    assert to_json(summary)["recall_against_exact"] == {"native": 0.8664, "dense": 0.71}
    figures = {row[:2] for row in describe(summary).figures}
    assert ("index/recall_against_exact.native", 0.8664) in figures
