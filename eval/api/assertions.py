"""Assertions on the figures of a run, whose messages show the questions that were lost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

from assay.eval.report.formats import count, shorten
from assay.eval.scoring.measures import find
from assay.eval.studies.run.frame import RunResult
from assay.retrievers.base import AssayError
from assay.retrievers.base.printing import replace_controls

MOST_QUESTIONS = 5  # in a message
LONGEST = 90  # characters of a text in it
P = ParamSpec("P")


def _checks(
    method: "Callable[Concatenate[CheckedRun, P], None]",
) -> "Callable[Concatenate[CheckedRun, P], CheckedRun]":
    """Make a method return its object, and end tracebacks at the line that called it."""

    @wraps(method)
    def check(self: "CheckedRun", /, *args: P.args, **kwargs: P.kwargs) -> "CheckedRun":
        __tracebackhide__ = True
        try:
            method(self, *args, **kwargs)
        except (AssertionError, AssayError) as error:
            raise error.with_traceback(None) from None
        return self

    return check


@dataclass(frozen=True)
class CheckedRun:
    """A stored run whose figures are asserted. Each method returns it, so that calls chain.

    Attributes:
        result: The run, with its figures as DataFrames.
        baselines: The folder of committed baselines; None is `baselines` below the reports.

    """

    result: RunResult
    baselines: Path | None = None

    @_checks
    def at_least(self, measure: str, value: float) -> None:
        """Assert that the mean of a measure is not below a value.

        Args:
            measure: By either name: `Hit@5` or `Success@5`.
            value: The least mean that is allowed.

        Returns:
            This object.

        Raises:
            AssertionError: The mean is lower; the message shows the questions that scored lowest,
                with the passages found instead.
            AssayError: There is no such measure, or it looks at more hits than were kept.

        """
        self._assert_mean(measure, value, lowest_first=True)

    @_checks
    def at_most(self, measure: str, value: float) -> None:
        """Assert that the mean of a measure is not above a value, as of `Empty`.

        Args:
            measure: By either name: `Hit@5` or `Success@5`.
            value: The largest mean that is allowed.

        Returns:
            This object.

        Raises:
            AssertionError: The mean is higher; the message shows the questions that scored highest.
            AssayError: There is no such measure, or it looks at more hits than were kept.

        """
        self._assert_mean(measure, value, lowest_first=False)

    @_checks
    def no_worse_than_baseline(self, *, strict: bool = False) -> None:
        """Assert that the run has not got worse than its accepted baseline, as `assay gate` judges.

        The settings are those of `configs/gate.yaml` in the working folder, or the defaults.

        Args:
            strict: Fail too if the gate warns or cannot tell.

        Returns:
            This object.

        Raises:
            AssertionError: The gate fails; the message shows the questions that lost most, with
                the passages found instead.
            AssayError: There is no baseline, or the run cannot be judged against it.

        """
        from assay.eval.progress import ConsoleProgress
        from assay.eval.studies.gate.running import baselines_folder, judge_target
        from assay.eval.studies.gate.sentences import announce, list_verdicts
        from assay.eval.studies.gate.settings import load_settings

        folder = baselines_folder(self.baselines)
        report = judge_target(
            self.result.id, (), None, folder, load_settings(None), ConsoleProgress()
        )
        if report.fails(strict):
            lines = [announce(report)]
            lines += [
                f"  {name}: {verdict}, {sentence}"
                for name, verdict, sentence in list_verdicts(report)
                if verdict != "pass"
            ]
            lost = report.losers[:MOST_QUESTIONS]
            if lost:
                lines += ["", "The questions that lost most:"]
            for item in lost:
                change = f"{item.measure} {item.base:.3f} → {item.head:.3f}"
                lines += self._show_question(item.query, change)
            raise AssertionError(self._finish(lines))

    def _assert_mean(self, measure: str, value: float, *, lowest_first: bool) -> None:
        name = find(measure).name
        summary = self.result.found
        if name not in summary.means:
            summary = RunResult(self.result.stored, (name,)).found
        mean, scores = summary.means[name], summary.scores[name]
        if (mean.value < value) if lowest_first else (mean.value > value):
            wanted = f"{'at least' if lowest_first else 'at most'} {value:g}"
            sign = 1 if lowest_first else -1
            missed = [query for query, score in scores.items() if sign * score < sign * value]
            missed.sort(key=lambda query: (sign * scores[query], query))
            lines = [
                f"{name} of {self.result.name} on {self.result.collection} is {mean.value:.3f} "
                f"(95 % interval {mean.low:.3f} to {mean.high:.3f}, "
                f"{count(mean.n, 'question')}); it should be {wanted}",
                "",
                f"The questions that scored {'lowest' if lowest_first else 'highest'}:",
            ]
            for query in missed[:MOST_QUESTIONS]:
                lines += self._show_question(query, f"{name} {scores[query]:.3f}")
            raise AssertionError(self._finish(lines))

    def _show_question(self, query: str, score: str) -> Iterator[str]:
        """Yield lines on a question: its score, the gold passages, and the first hits."""
        run = self.result.stored
        hits = run.joined[query]
        yield f"  {score}  {query}: {shorten(run.queries[query].text, LONGEST)}"
        relevant = [item for item in run.gold[query] if item.grade > 0]
        if relevant:
            best = max(relevant, key=lambda item: item.grade)
            ranks = [i for i, hit in enumerate(hits, start=1) if best in hit.found]
            place = f"rank {ranks[0]}" if ranks else f"not among {count(len(hits), 'hit')}"
            yield f"    wanted  {best.doc_id} ({place}): {_quote(run.gold_texts[best.id])}"
        if hits:
            first = hits[0]
            right = "right" if first.found else "wrong" if first.judged else "not judged"
            yield f"    first   {first.chunk.doc_id} ({right}): {_quote(first.chunk.text)}"
        else:
            yield "    first   nothing was returned"

    def _finish(self, lines: list[str]) -> str:
        """Write the page of the run, and return the message, with the page's place at its end."""
        from assay.eval.running.run import write_report

        _, page = write_report(self.result.stored)
        return replace_controls("\n".join([*lines, "", f"report  {page}"]), "\n")


def _quote(text: str) -> str:
    return f'"{shorten(text, LONGEST)}"'
