"""Agreement of the judges of a pool, and the pairs on which they disagree."""

from collections.abc import Mapping

from assay.eval.statistics.agreement import Agreement, measure_agreement
from assay.eval.studies.judging.grades import Grade

Graded = Mapping[str, Mapping[str, Grade]]


def compare_judges(graded: Graded, judge: str) -> dict[str, Agreement]:
    """Return the agreement of `judge` with every other judge, by name; `graded` is by pair."""
    both: dict[str, list[tuple[int, int]]] = {}
    for by_judge in graded.values():
        if mine := by_judge.get(judge):
            for other, grade in by_judge.items():
                if other != judge:
                    both.setdefault(other, []).append((mine.grade, grade.grade))
    return {other: measure_agreement(both[other]) for other in sorted(both)}


def find_disagreements(graded: Graded) -> list[str]:
    """Return the pairs whose judges gave different grades, the largest difference first."""
    apart = {
        id_: max(one.grade for one in by_judge.values())
        - min(one.grade for one in by_judge.values())
        for id_, by_judge in graded.items()
    }
    return sorted((id_ for id_ in apart if apart[id_]), key=lambda id_: (-apart[id_], id_))
