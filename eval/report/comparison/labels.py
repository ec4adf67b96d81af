"""What the runs of a comparison are called on its page."""

from collections import Counter
from collections.abc import Sequence

from eval.analysis.comparison import Comparison
from eval.runs.stored import StoredRun


def list_runs(compared: Comparison) -> list[StoredRun]:
    """Return the base and then the others."""
    return [compared.base.run, *(pair.other.run for pair in compared.pairs)]


def label_runs(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """Return the name of each run's config, numbered where several runs share one."""
    names = [run.manifest.name for run in runs]
    shared = {name for name, times in Counter(names).items() if times > 1}
    return tuple(
        f"{name} ({names[:at].count(name) + 1})" if name in shared else name
        for at, name in enumerate(names)
    )
