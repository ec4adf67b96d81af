"""Spans sent over OTLP are kept as they came, whole."""

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from doubles.spans import DOGS, FERRY, Emitter, emit_search

from assay.eval.studies.traces.receiver import JSON, PROTOBUF, TraceReceiver
from assay.eval.studies.traces.traces import Trace, open_book
from assay.retrievers.base import AssayError


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[TraceReceiver]:
    with TraceReceiver(tmp_path / "kept.pb", 0) as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


def read(path: Path) -> list[Trace]:
    with open_book([str(path)]) as book:
        assert not book.faults
        return list(book.traces())


def post(receiver: TraceReceiver, content: bytes, kind: str = PROTOBUF, **headers: str) -> int:
    headers = {"Content-Type": kind, **headers}
    return httpx.post(receiver.address, content=content, headers=headers).status_code


def test_the_sdks_own_exporter_sends_here(receiver: TraceReceiver, tmp_path: Path) -> None:
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter = exporters.OTLPSpanExporter(endpoint=receiver.address)
    emitter = Emitter()
    emitter.provider.add_span_processor(SimpleSpanProcessor(exporter))
    emit_search("dogs", [DOGS], emitter)
    emit_search("ferry", [FERRY, DOGS], emitter)
    emitter.provider.shutdown()
    traces = read(tmp_path / "kept.pb")
    assert sorted((trace.query, len(trace.found)) for trace in traces) == [
        ("dogs", 1),
        ("ferry", 2),
    ]
    assert receiver.spans == len(emitter.spans)


def test_json_and_packed_messages_are_the_same_spans(
    receiver: TraceReceiver, tmp_path: Path
) -> None:
    emitter = emit_search("dogs", [DOGS])
    message = emitter.protobuf()
    assert post(receiver, gzip.compress(message), **{"Content-Encoding": "gzip"}) == 200
    [packed] = read(tmp_path / "kept.pb")
    assert post(receiver, json.dumps(emitter.otlp_json()).encode(), JSON) == 200
    with open_book([str(tmp_path / "kept.pb")]) as book:
        assert list(book.traces()) == [packed]  # the same ids: each span came before
        assert sum(book.faults.values()) == receiver.spans // 2


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"\xff\xff", PROTOBUF, 400),
        (b"{", JSON, 400),
        (b'{"resourceSpans": 3}', JSON, 400),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}', JSON, 400),
        (b"{}", "text/plain", 415),
    ],
)
def test_what_is_no_span_is_refused(
    content: bytes, kind: str, status: int, receiver: TraceReceiver, tmp_path: Path
) -> None:
    assert post(receiver, content, kind) == status
    assert (tmp_path / "kept.pb").read_bytes() == b""


def test_a_packed_message_too_large_and_one_that_is_not_packed(receiver: TraceReceiver) -> None:
    packed = {"Content-Encoding": "gzip"}
    assert post(receiver, gzip.compress(bytes(1 << 27)), **packed) == 400
    assert post(receiver, b"\n", **packed) == 400
    assert httpx.post(receiver.address.replace("/v1/traces", "/x"), content=b"").status_code == 404


def test_a_message_cut_off_is_dropped_and_whole_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "kept.pb"
    message = emit_search("dogs", [DOGS]).protobuf()
    whole = len(message).to_bytes(4) + message
    for torn in (whole[:2], whole[:-1], b""):
        path.write_bytes(whole + torn)
        with TraceReceiver(path, 0):
            pass
        assert path.read_bytes() == whole


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes on everything\n")
    with pytest.raises(AssayError, match="not written by this command"):
        TraceReceiver(path, 0)
    assert path.read_text() == "# Notes on everything\n"


def test_a_message_that_comes_as_it_closes_is_refused(tmp_path: Path) -> None:
    made = TraceReceiver(tmp_path / "kept.pb", 0)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    message, kind = json.dumps({"resourceSpans": []}), {"Content-Type": JSON}
    with httpx.Client(headers=kind) as client:  # one connection, whose thread lives on
        assert client.post(made.address, content=message).status_code == 200
        made.shutdown()
        made.server_close()
        kept = (tmp_path / "kept.pb").read_bytes()
        assert client.post(made.address, content=message).status_code == 503
    assert (tmp_path / "kept.pb").read_bytes() == kept
