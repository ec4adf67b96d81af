"""What `assay traces read` holds in memory at most, by the number of spans.

`python -m benchmarks.trace_memory` makes files of OTLP's protobuf, in which every search has a
root, a retriever of ten documents and a reranker of five, and reads each in a process of its own.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span, TracesData

from benchmarks.sweep_memory import hold

BEGIN = 1_760_000_000_000_000_000  # nanoseconds of the epoch
AT_ONCE = 200  # searches of a message
STEPS = (("CHAIN", "", 0), ("RETRIEVER", "retrieval.documents", 10),
         ("RERANKER", "reranker.output_documents", 5))  # fmt: skip


def write_spans(path: Path, spans: int) -> None:
    """Write `spans` spans, of searches whose queries mostly differ."""
    rng = random.Random(0)
    texts = [" ".join(f"word{rng.randrange(5000)}" for _ in range(12)) for _ in range(5000)]
    with path.open("wb") as file:
        for begin in range(0, spans // len(STEPS), AT_ONCE):
            batch = ResourceSpans()
            for i in range(begin, min(begin + AT_ONCE, spans // len(STEPS))):
                batch.scope_spans.add().spans.extend(_make_search(i, texts, rng))
            message = TracesData(resource_spans=[batch]).SerializeToString()
            file.write(len(message).to_bytes(4) + message)


def _make_search(number: int, texts: Sequence[str], rng: random.Random) -> list[Span]:
    trace, root, time = rng.randbytes(16), rng.randbytes(8), BEGIN + number * 10_000_000
    query = f"{rng.choice(texts)[:30]} {rng.randrange(100_000)}"
    found = rng.sample(range(len(texts)), STEPS[1][2])
    spans = []
    for kind, attribute, count in STEPS:
        values: dict[str, str | float] = {"openinference.span.kind": kind, "input.value": query}
        for rank, document in enumerate(found[:count]):
            values[f"{attribute}.{rank}.document.id"] = f"document {document}"
            values[f"{attribute}.{rank}.document.content"] = texts[document]
            values[f"{attribute}.{rank}.document.score"] = 1 / (rank + 1)
        span = Span(
            trace_id=trace,
            span_id=rng.randbytes(8) if spans else root,
            parent_span_id=root if spans else b"",
            name=kind.lower(),
            start_time_unix_nano=time,
            end_time_unix_nano=time + rng.randrange(100_000_000),
        )
        for key, value in values.items():
            told = span.attributes.add(key=key).value
            setattr(told, "string_value" if isinstance(value, str) else "double_value", value)
        spans.append(span)
    return spans


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the most that is held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace_memory", description=__doc__)
    parser.add_argument("--spans", type=int, nargs="+", default=[100_000, 1_000_000])
    for spans in parser.parse_args(arguments).spans:
        with TemporaryDirectory() as made:
            path = Path(made) / "spans.pb"
            write_spans(path, spans)
            output = str(Path(made) / "traced")
            held = hold(Path(made), "traces", "read", str(path), "--output", output, "--consent")
            size = path.stat().st_size / 1e6
            print(f"{spans:9,} spans, {size:5.0f} MB of protobuf: {held:5.0f} MB")


if __name__ == "__main__":
    main()
