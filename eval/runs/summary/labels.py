"""Unique display names for runs: their config, and the differences between runs of one config."""

from collections import Counter
from collections.abc import Iterable, Sequence

from assay.eval.runs.config_keys import flatten, shorten
from assay.eval.runs.stored import StoredRun

SAID = 3  # keys in a label
LONGEST = 40  # characters of a value
UNTOLD = {"name", "description", "measures"}  # none of them changes what is found


def label_runs(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """Return a unique label for each run: the name of its config.

    For runs of one name the keys that differ among them are added, else the time at which each was
    made, else its id.
    """
    names = [run.manifest.name for run in runs]
    labels = list(names)
    for name in (name for name, times in Counter(names).items() if times > 1):
        places = [i for i, other in enumerate(names) if other == name]
        alike = [runs[i] for i in places]
        ids = [run.manifest.id for run in alike]
        for told in (_tell_keys(alike), [run.manifest.created for run in alike], ids):
            if len(set(told)) == len(told):
                break
        for i, words in zip(places, told, strict=True):
            labels[i] = f"{name} ({words})" if words else name
    return tuple(labels)


def merge_lines(said: Iterable[tuple[str, str]]) -> list[str]:
    """Return each line once, after all of its labels; empty lines are left out.

    `said` has pairs of label and line: ("bm25", "…"), ("hybrid", "…") becomes "bm25, hybrid: …".
    """
    labels: dict[str, list[str]] = {}
    for label, line in said:
        labels.setdefault(line, []).append(label)
    return [f"{', '.join(dict.fromkeys(found))}: {line}" for line, found in labels.items() if line]


def _tell_keys(runs: Sequence[StoredRun]) -> list[str]:
    """Return in words the values of each run's config that differ among the runs."""
    configs = [dict(flatten(run.manifest.config)) for run in runs]
    keys = dict.fromkeys(key for config in configs for key in config if key not in UNTOLD)
    differing = [key for key in keys if len({config.get(key) for config in configs}) > 1]
    names = shorten(differing[:SAID])
    more = ", …" if len(differing) > SAID else ""
    return [
        ", ".join(f"{name} {config[key][:LONGEST]}" for key, name in names.items() if key in config)
        + more
        for config in configs
    ]
