"""The rules of conformance, applied to a user's own retriever or part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig, load_config, make_config
from assay.eval.configs.named_configs import is_config
from assay.eval.configs.overrides import apply_override
from assay.eval.configs.resources import make_resources
from assay.eval.runs.json_form import in_json
from assay.retrievers import conformance
from assay.retrievers.base import AssayError, Quiet, cut
from assay.retrievers.conformance import ConformanceError, Rule, Subject
from assay.retrievers.foreign.frameworks import FrameworkSettings
from assay.retrievers.foreign.http import HttpSettings
from assay.retrievers.part_conformance import PartKind, find_kind
from assay.retrievers.settings import Resources, validate
from assay.retrievers.settings.parts import find_plugged
from assay.retrievers.settings.plugins import load_class

SHOWN = 300  # characters of what broke a rule
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# Rules that apply only to a retriever that indexes the documents of the rules.
OF_DOCUMENTS = {
    conformance.result_does_not_depend_on_the_order_of_documents,
    conformance.chunks_are_true,
    conformance.finds_what_is_there,
    conformance.indexing_replaces,
    conformance.edits_are_seen,
}


@dataclass(frozen=True)
class Verdict:
    """The outcome of one rule; `why` says what broke it, or why it was not tried."""

    part: str
    rule: str
    status: str
    why: str = ""


@in_json("ok", checked="what", rules="verdicts")
@dataclass(frozen=True)
class ConformanceReport:
    """The verdicts of all rules on one subject, in order."""

    what: str
    verdicts: Sequence[Verdict]

    @property
    def failed(self) -> int:
        """The number of rules that are broken."""
        return sum(verdict.status == FAILED for verdict in self.verdicts)

    @property
    def ok(self) -> bool:
        """True if no rule is broken."""
        return not self.failed


def check(what: str, overrides: Sequence[str]) -> ConformanceReport:
    """Check what `what` names against every rule of its kind.

    It is a config by its path or name, `package.module:Class` or the address of a service;
    `overrides` change the config, or are the keys of a class of settings. The plugged-in parts of
    a pipeline are checked too. Raises AssayError if there is no such thing.
    """
    resources = make_resources(Quiet())
    if is_config(what):
        return ConformanceReport(
            what, tuple(_check_config(load_config(what, overrides), resources))
        )
    if what.startswith(("http://", "https://")):
        retriever = {"type": "http", "url": what}
    else:
        found: type[Any] = load_class(what, object, "RETRIEVER")
        if kind := find_kind(found):
            values: dict[str, Any] = {}
            for override in overrides:
                apply_override(values, override, found)
            part = validate(found, values, what)
            return ConformanceReport(what, tuple(_check_part(kind, kind.name, part, resources)))
        retriever = {"type": "python", "path": what}
    config = make_config({"name": "checked", "retriever": retriever}, overrides, what)
    return ConformanceReport(what, tuple(_check_config(config, resources)))


def _check_config(config: RunConfig, resources: Resources) -> Iterator[Verdict]:
    """Check the retriever of a config, and the parts that are plugged into it."""
    subject = Subject(partial(config.build, resources))
    settings = config.retriever
    has_documents = isinstance(settings, HttpSettings) or (
        isinstance(settings, FrameworkSettings) and not settings.makes
    )
    if has_documents:
        collection = load(config.dataset, resources.progress)
        asked = tuple(query.text for query in collection.queries[: len(subject.queries)])
        subject = Subject(subject.make, collection.documents, asked)
    with subject.make() as retriever:  # one that cannot be made or reached breaks no rule
        if has_documents:
            retriever.index(subject.documents)
            retriever.search(subject.queries[0], 1)
    unread = False
    for rule in conformance.RULES:
        if unread:
            yield Verdict("retriever", rule.name, SKIPPED, "its answers cannot be read")
        elif has_documents and rule.check in OF_DOCUMENTS:
            yield Verdict("retriever", rule.name, SKIPPED, "it has documents of its own")
        else:
            yield (verdict := _try(rule, "retriever", subject))
            unread = rule.check is conformance.answers_in_form and verdict.status == FAILED
    for key, part in find_plugged(config):
        if kind := find_kind(type(part)):
            yield from _check_part(kind, f"{kind.name} {key}", part, resources)


def _check_part(kind: PartKind, name: str, part: Any, resources: Resources) -> Iterator[Verdict]:
    for rule in kind.rules:
        yield _try(rule, name, kind.give(part, resources))


def _try(rule: Rule[Any], part: str, given: Any) -> Verdict:
    try:
        rule.check(given)
    except Exception as error:
        reason = " ".join(str(error).split())
        if not isinstance(error, ConformanceError | AssayError):
            reason = f"{type(error).__name__}: {reason}"
        return Verdict(part, rule.name, FAILED, cut(reason, SHOWN))
    return Verdict(part, rule.name, PASSED)
