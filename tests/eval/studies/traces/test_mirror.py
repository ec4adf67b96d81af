"""A pipeline known by its spans alone is explained as it is when it runs here."""

import json

import pytest
from click.testing import CliRunner
from doubles.spans import Emitter
from opentelemetry import trace

from assay import step
from assay.eval.cli.import_command import import_
from assay.eval.cli.traces import traces
from assay.eval.configs.config import load_config
from assay.eval.running.run import make_run
from assay.eval.runs.stored import load
from assay.eval.runs.summary.attribution import attribute
from assay.retrievers.base import Hit, Quiet

UNSEEN = {"in no chunk", "in no leg", "not retrieved"}  # which spans cannot tell apart


def emit(run, path, monkeypatch):
    """Write the spans of a program that makes the same searches and knows Assay by `step` alone."""
    messages = []
    for query, ranking in run.rankings.items():
        chunks = {hit.chunk.id: hit.chunk for hit in ranking.hits}
        chunks |= {chunk.id: chunk for chunk in ranking.others}
        asked = run.queries[query].text
        emitter = Emitter()
        monkeypatch.setattr(trace, "get_tracer", emitter.provider.get_tracer)
        with emitter.span("answer", input__value=asked):
            for entry in ranking.trace:
                with step(entry.name, entry.kind, asked) as recorded:
                    if entry.kind != "query":
                        recorded.record(Hit(chunks[id_], score) for id_, score in entry.candidates)
        messages.append(emitter.line())
    path.write_bytes(b"".join(messages))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collection", "queries"),
    [("harbourline", 60), pytest.param("tarnwick", 773, marks=pytest.mark.long)],
)
def test_a_mirror_that_only_emits_spans_is_attributed_identically(
    collection, queries, tmp_path, monkeypatch
):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    stages = '[{"type": "mmr"}]'
    changes = [f"dataset={collection}", f"limit={queries}", f"retriever.stages={stages}"]
    own = make_run(load_config("hybrid", changes), False, Quiet()).run
    emit(own, tmp_path / "spans.jsonl", monkeypatch)
    options = ["--dataset", collection, "--output", str(tmp_path / "traced"), "--json"]
    done = CliRunner().invoke(traces, ["read", str(tmp_path / "spans.jsonl"), *options])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["searches"], told["faults"], told["notes"]) == (queries, {}, [])
    [run] = told["files"]
    words = f"--dataset {collection} --name mirror --missing drop --no-report --json"
    done = CliRunner().invoke(import_, [run, *words.split()])
    assert done.exit_code == 0, done.output
    mirror = load(tmp_path / "reports" / json.loads(done.stdout)["runs"][0]["run"])
    assert mirror.rankings.keys() == own.rankings.keys()
    ours, theirs = attribute(own), attribute(mirror)
    assert ours.steps == theirs.steps
    found = set()
    for query, items in ours.items.items():
        for one, other in zip(items, theirs.items[query], strict=True):
            assert one.ranks == other.ranks
            if one.status in UNSEEN:
                assert other.status == "not returned"
            else:
                assert (one.status, one.where) == (other.status, other.where)
            found.add(one.status)
    assert len(found) > 3
    assert [i.step for i in theirs.ceilings] == [i.step for i in ours.ceilings]
    assert theirs.reached == ours.reached
