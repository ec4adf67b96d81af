"""The provenance of a run: data, machine and software, so that a reader can trust its figures."""

from collections.abc import Mapping
from typing import Any

import yaml

from assay.eval.report.blocks import Report
from assay.eval.report.formats import count, retried
from assay.eval.runs.manifest import CollectionFacts, Manifest

Pairs = tuple[tuple[str, str], ...]


def describe_run(manifest: Manifest) -> Pairs:
    """Return facts on how a run was measured, and on which collection."""
    return (
        *_method(manifest),
        *_collection(manifest.collection),
        ("Identity", manifest.identity),
        ("Finished", manifest.created),
    )


def _method(manifest: Manifest) -> Pairs:
    retries = (("Retries", f"{retried(manifest.retries)}."),) if manifest.retries else ()
    return (
        ("Gold items and chunks", f"{manifest.join_rule[:1].upper()}{manifest.join_rule[1:]}."),
        (
            "Measures",
            f"By ir-measures on the first {manifest.depth} passages of each query. A query without "
            "results scores 0 and stays in the mean. Equal scores are ordered by descending id.",
        ),
        (
            "Intervals",
            "95 %. Of means: Student's over queries, exact binomial where every score is 0 or 1. "
            "Of percentiles of latency: between two of the times, as the binomial distribution has "
            "it. They say how far another sample of such queries could differ. Compare two runs "
            "by a paired test, not by whether their intervals overlap.",
        ),
        (
            "Tokens",
            "Words and punctuation marks of a passage with its title; sub-word tokenizers count "
            "about a third more.",
        ),
        (
            "Latency",
            "After a warm-up, one query at a time, per-query caches off, monotonic clock. The "
            "total is what the caller waits, encoding of the query included. Throughput is "
            "measured apart.",
        ),
        *retries,
    )


def _collection(collection: CollectionFacts) -> Pairs:
    sizes = (
        count(collection.documents, "document"),
        count(collection.queries, "judged query", "judged queries"),
        count(collection.judgments, "judgment"),
    )
    pairs = (
        ("Title", collection.title),
        ("Name", collection.name),
        ("Folder in its repository", collection.place),
        ("Source", collection.source),
        ("Licence", collection.licence or "not stated"),
        ("Sizes", ", ".join(sizes)),
        ("Self-matches", "left out of every ranking" if collection.drop_self_matches else ""),
        ("SHA-256 of its content", collection.digest),
    )
    return tuple(pair for pair in pairs if pair[1])


def describe_origin(report: Report) -> Pairs:
    """Return the id, code and machine of a report; empty if it knows none."""
    if not report.id and not report.environment:
        return ()
    return ((report.kind.capitalize(), report.id), *describe_environment(report.environment))


def describe_environment(environment: Mapping[str, Any]) -> Pairs:
    """Return code and machine in words."""
    cores = environment.get("cores")
    pairs = (
        ("Code", _code(environment.get("git", {}))),
        ("Python", str(environment.get("python", ""))),
        ("System", str(environment.get("system", ""))),
        ("Processor", str(environment.get("processor", ""))),
        ("Cores", str(cores) if cores else ""),
        ("GPU", ", ".join(map(str, environment.get("gpus", ())))),
    )
    return tuple(pair for pair in pairs if pair[1])


def _code(git: Mapping[str, Any]) -> str:
    if not git.get("commit"):
        return "not from a git checkout"
    return f"commit {git['commit']}{', with uncommitted changes' if git.get('dirty') else ''}"


def dump_yaml(value: Mapping[str, Any]) -> str:
    """Return `value` as YAML, its keys in their own order."""
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=90)
