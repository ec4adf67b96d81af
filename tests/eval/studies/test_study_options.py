"""Each study is asked the same by its command as by its function, and refuses the same."""

import importlib
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from tools.command_line import call

import assay
from assay.eval.cli.commands import COMMANDS
from assay.eval.running.study import Argument
from assay.eval.studies.tuning.choosing import ChoiceOptions
from assay.retrievers.base import AssayError, Quiet

STUDIES = {
    name: importlib.import_module(f"assay.eval.studies.{entry.place.partition(':')[0]}")
    for name, entry in COMMANDS.items()
    if "." in entry.place
}
K1 = "retriever.legs.keyword.k1"

# The words of a command, and what its function is given for the same.
MODEL = "--provider openai --model m --prices 1,1,1,1 --max-cost-usd 2"
NAMED = {"provider": "openai", "model": "m", "prices": "1,1,1,1", "max_cost_usd": 2}


ASKED = {
    "ablate hybrid": {},
    "ablate hybrid limit=4 --measures nDCG@5,Hit@1 --timed 0": {
        "measures": ["nDCG@5", "Hit@1"], "timed": 0,
    },
    f"answer hybrid {MODEL}": NAMED,
    f"answer hybrid limit=3 --context-tokens 90 --limit 2 {MODEL}": {
        "context_tokens": 90, "limit": 2, **NAMED,
    },
    "audit -n 250 --base .71 --new .74": {},
    "audit --n 250 --base .71 --new .74 --sd .3 --hits --tried 20": {"hits": True, "tried": 20},
    "choose tarnwick": {},
    "choose tarnwick limit=9 --config other --budget 2m --max-latency 50 --measure Hit@1": {
        "config": "other", "budget": 120, "max_latency": 50, "measure": "Hit@1",
    },
    "choose --dataset a --dataset b": {"dataset": ["a", "b"]},
    f"contexts law {MODEL}": NAMED,
    f"contexts law --config some --window-tokens 900 --output c.jsonl {MODEL}": {
        "config": "some", "window_tokens": 900, "output": "c.jsonl", **NAMED,
    },
    "explain bm25": {},
    "explain bm25 limit=3 --query q1 -k 5": {"query": "q1", "k": 5},
    "ingest docs": {},
    "ingest docs a.b=1 --config bm25 --again": {"config": "bm25", "rerun": True},
    f"judge pool.csv {MODEL}": NAMED,
    "judge law one two --collection x --output t.csv --queries 3 --guidelines g.md --highest 2 "
    f"--spans --twice .5 --measure Hit@1 --seed 4 {MODEL}": {
        "collection": "x", "output": "t.csv", "queries": 3, "guidelines": "g.md", "highest": 2,
        "spans": True, "twice": 0.5, "measure": "Hit@1", "seed": 4, **NAMED,
    },
    "overlap one two": {},
    "overlap one two limit=3 --k 5 --by documents": {"k": 5, "by": "documents"},
    "parity sqlite": {},
    "parity sqlite tarnwick k=2 --limit 6": {"limit": 6},
    f"questions docs {MODEL}": NAMED,
    "questions docs a.b=1 --number 7 --types factual,definition --seed 3 --max-overlap .4 "
    f"--review .2 --config hybrid --name x --output y --force {MODEL}": {
        "number": 7, "types": ["factual", "definition"], "seed": 3, "max_overlap": 0.4,
        "review": 0.2, "config": "hybrid", "name": "x", "output": "y", "force": True, **NAMED,
    },
    "ragas one": {},
    f"ragas one --metrics Faithfulness,ContextRecall -k 3 --limit 2 {MODEL}": {
        "metrics": ["Faithfulness", "ContextRecall"], "k": 3, "limit": 2, "asked": NAMED,
    },
    "recall sqlite --sweep ef=8,16 --filters 0.5,0.1": {"sweep": "ef=8,16", "filters": [0.5, 0.1]},
    "reproduce": {},
    "reproduce scifact nfcorpus=here --system bm25 --system splade --rerun": {
        "systems": ["bm25", "splade"], "rerun": True,
    },
    "sweep some.yaml": {},
    "sweep some.yaml limit=2 --engine a --engine b --keep-runs": {
        "engines": ["a", "b"], "keep_runs": True,
    },
    "targets": {},
    "targets A B --file README.md --rerun": {"file": Path("README.md"), "rerun": True},
    "threshold semantic": {},
    "threshold semantic limit=3 --of dense --false-empty .1": {"of": "dense", "false_empty": 0.1},
    "tune bm25": {},
    f"tune bm25 limit=3 --over {K1}=0.5,1.2 --trials 3 --folds 2 --repeats 4 --seed 7 "
    "--measure Hit@1 --group-by document": {
        "space": {K1: [0.5, 1.2]}, "trials": 3, "folds": 2, "repeats": 4, "seed": 7,
        "measure": "Hit@1", "group_by": "document",
    },
    "tune bm25 --space axes.yaml": {"space": "axes.yaml"},
}  # fmt: skip
# What a function is given where that is not the words before the first option.
GIVEN = {
    "audit -n 250 --base .71 --new .74": (250, 0.71, 0.74),
    "audit --n 250 --base .71 --new .74 --sd .3 --hits --tried 20": (250, 0.71, 0.74, 0.3),
    "audit -n 1 --base .5 --new .6": (1, 0.5, 0.6),
    "audit -n 9 --base 50 --new .6": (9, 50, 0.6),
    "ingest docs a.b=1 --config bm25 --again": (Path("docs"), "a.b=1"),
    "sweep some.yaml limit=2 --engine a --engine b --keep-runs": (Path("some.yaml"), "limit=2"),
    "threshold semantic limit=3 --of dense --false-empty .1": (Path("semantic"), "limit=3"),
}

# The same, and the words that name what is wrong.
REFUSED = [
    ("ablate hybrid --timed -1", {"timed": -1}, "timed"),
    (f"answer one --limit 0 {MODEL}", {"limit": 0, **NAMED}, "limit"),
    ("answer one", {}, "provider"),
    (f"contexts x --window-tokens 9 {MODEL}", {"window_tokens": 9, **NAMED}, "window"),
    (f"judge x --twice 2 {MODEL}", {"twice": 2, **NAMED}, "twice"),
    (f"questions x --review 0 {MODEL}", {"review": 0, **NAMED}, "review"),
    ("ragas one --model m", {"asked": {"model": "m"}}, "--model: only with --provider"),
    ("choose tarnwick --budget 0s", {"budget": 0}, "budget"),
    ("choose tarnwick --budget soon", {"budget": "soon"}, "is no time; allowed:"),
    ("choose tarnwick --max-latency nan", {"max_latency": float("nan")}, "latency"),
    ("audit -n 1 --base .5 --new .6", {}, "n"),
    ("audit -n 9 --base 50 --new .6", {}, "base"),
    ("overlap a b --k 0", {"k": 0}, "k"),
    ("overlap a b --by words", {"by": "words"}, "by"),
    ("explain bm25 -k 0", {"k": 0}, "k"),
    ("parity sqlite --limit 0", {"limit": 0}, "limit"),
    ("recall sqlite --limit 1000001", {"limit": 1_000_001}, "limit"),
    ("threshold semantic --false-empty 1", {"false_empty": 1}, "empty"),
    ("threshold semantic --false-empty nan", {"false_empty": float("nan")}, "empty"),
    ("tune bm25 --folds 1", {"folds": 1}, "folds"),
    ("tune bm25 --repeats 0", {"repeats": 0}, "repeats"),
    ("tune bm25 --trials 0", {"trials": 0}, "trials"),
    ("tune bm25 --group-by type", {"group_by": "type"}, "group"),
]


class AskedError(AssayError):
    """A study was asked."""


@pytest.fixture
def heard(monkeypatch):
    """What studies were asked, which then find nothing."""
    given = []

    def find(asked, _lab):
        given.append(asked)
        raise AskedError("asked")

    for module in STUDIES.values():
        monkeypatch.setattr(module, "STUDY", replace(module.STUDY, find=find))
    return given


def call_function(words, named):
    command, *given = words.split()
    given = GIVEN.get(words) or takewhile(lambda word: not word.startswith("-"), given)
    return getattr(assay, command)(*given, **named)


def test_every_study_is_in_the_tables():
    # What compares in Python takes systems and results, too; files are verified from a shell alone.
    assert {words.split()[0] for words in ASKED} == STUDIES.keys() - {"compare", "verify"}


@pytest.mark.parametrize("words", ASKED)
def test_a_command_and_its_function_ask_the_same(words, heard, monkeypatch, capsys):
    assert call(monkeypatch, capsys, *words.split()) == (2, "assay: asked\n")
    with pytest.raises(AskedError):
        call_function(words, ASKED[words])
    by_command, by_function = heard
    if isinstance(by_command, ChoiceOptions) and by_command.measure is None:
        by_command = by_command.settle(Quiet())
    assert by_command == by_function


@pytest.mark.parametrize(("words", "named", "told"), REFUSED)
def test_a_command_and_its_function_refuse_the_same(words, named, told, heard, monkeypatch, capsys):
    status, said = call(monkeypatch, capsys, *words.split())
    assert status == 2
    assert told in said
    with pytest.raises(AssayError, match=told):
        call_function(words, named)
    assert not heard


@pytest.mark.parametrize("command", STUDIES)
def test_every_option_has_a_help(command):
    for name, field in STUDIES[command].STUDY.options.model_fields.items():
        placed = any(isinstance(item, Argument) for item in field.metadata)
        assert placed or field.description, name
