"""The screen of `assay run`: the headline first, one table, and last what to check."""

from dataclasses import replace
from zipfile import ZipFile

import pytest

from assay.eval.cli import table
from assay.eval.cli.table import print_summary
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import Summary, summarise
from assay.eval.shipped import DEMO
from assay.eval.statistics.estimates import Estimate

TYPES = 13  # of the run, each of four or five queries


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    folder = tmp_path_factory.mktemp("demo")
    with ZipFile(DEMO) as archive:
        archive.extractall(folder)
    return summarise(load(folder / "hybrid"))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_holds_it(summary: Summary, capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(summary)
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0].startswith("hybrid on harbourline (n = 60): nDCG@10 0.")
    assert len(lines) <= 24 - 4, "report, MLflow and the next commands follow"
    assert max(map(len, lines)) <= 80
    for name, mean in summary.means.items():
        assert name in shown
        assert f"{mean.low:.{0 if name == 'Tokens@10' else 3}f} – " in shown
    fold = f"{TYPES} types of query (--by-type): none of 10 queries or more"
    check = next(line for line in lines if line.startswith("Check first: The leg dense alone "))
    assert lines.index(fold) < lines.index(check)
    assert shown.count("language model, not by") == 1
    assert "That may be chance; `assay tune` fits the fusion" in " ".join(shown.split())
    assert "vocabulary_mismatch" not in shown


def test_a_log_has_the_same_words_without_breaks(
    summary: Summary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_summary(summary)
    log = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    print_summary(summary)
    terminal = capsys.readouterr().out
    assert terminal.split() == log.split()
    assert len(terminal.splitlines()) > len(log.splitlines())


@pytest.mark.usefixtures("terminal")
def test_all_types_and_steps_are_shown_where_asked_for(
    summary: Summary, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(summary, by_type=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for kind, means in summary.by_type.items():
        (row,) = (line.split() for line in lines if line.startswith(f"{kind} "))
        assert row[1:3] == [str(means["nDCG@10"].n), f"{means['nDCG@10'].value:.3f}"]
    for step in summary.latency.keys() - {"total"}:
        assert any(line.split()[:1] == [step] for line in lines)


def test_the_fold_names_types_that_say_something(
    summary: Summary, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the type of three queries that score 0, though it is the lowest."""
    ranked = sorted(summary.scores["nDCG@10"].items(), key=lambda item: item[1])
    kinds = ["few"] * 3 + ["low"] * 10 + ["high"] * 47
    types = {query: kind for (query, _), kind in zip(ranked, kinds, strict=True)}
    queries = {id_: replace(i, type=types[id_]) for id_, i in summary.run.queries.items()}
    print_summary(summarise(replace(summary.run, queries=queries)))
    shown = capsys.readouterr().out
    low, high = (
        sum(score for _, score in part) / len(part) for part in (ranked[3:13], ranked[13:])
    )
    assert f"3 types of query (--by-type): nDCG@10 {low:.3f} (low) to {high:.3f} (high)\n" in shown


@pytest.mark.parametrize(
    ("big", "told"),
    [
        (("howto",), "nDCG@10 0.500 (howto), the only one of 10 queries or more"),
        (("howto", "fact"), "nDCG@10 0.500 in all of 10 queries or more"),
        ((), "none of 10 queries or more"),
    ],
)
def test_the_fold_names_no_range_where_there_is_none(
    summary: Summary, big: tuple[str, ...], told: str
) -> None:
    means = {"nDCG@10": Estimate(0.5, 0.4, 0.6, 4)}
    of_types = dict.fromkeys(("one", "two"), means)
    of_types |= {kind: {"nDCG@10": Estimate(0.5, 0.4, 0.6, 20)} for kind in big}
    changed = replace(summary)
    changed.__dict__["by_type"] = of_types
    assert table._fold_types(changed) == f"{len(of_types)} types of query (--by-type): {told}"


def test_what_failed_comes_with_what_to_do(
    summary: Summary, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = summary.run.manifest.model_copy(update={"degraded": {"rerank: no answer": 4}})
    print_summary(replace(summary, run=replace(summary.run, manifest=manifest)))
    told = "degraded on 4 of 60 queries: rerank: no answer. Run again once that is fixed\n"
    assert f"Check first: {told}" in capsys.readouterr().out
