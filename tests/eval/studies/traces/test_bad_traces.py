"""Files that are torn, huge or hostile: what can be read is, the rest is counted in words."""

import gzip
import json
import sqlite3
import subprocess
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from doubles.spans import DOGS, FERRY, Emitter, emit_search, list_spans
from tools.read_traces import read

from assay.eval.studies.traces import files, reading, traces
from assay.eval.studies.traces.files import TORN
from assay.retrievers.base import AssayError, Quiet, bounds


def write(folder, content, name="spans.json"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_torn_document_and_a_line_that_is_no_json():
    batch = emit_search("dogs", [DOGS]).otlp_json()
    text = json.dumps({"data": [batch, batch]}, indent=1)
    [trace], faults = read(text[:-30].encode())
    assert faults[TORN] == 1
    good = json.dumps(batch)
    lines = f'{good}\n{good[:60]}\n[1]\n"x"\n{{"a": {"[" * 100_000}\n'
    [trace], faults = read(lines.encode())
    assert trace.query == "dogs"
    assert faults == {"line is not JSON": 2, "not an object": 2}


@pytest.fixture(scope="module")
def pair():
    """The span of a chain, and that of the retriever in it."""
    spans = list_spans(emit_search("dogs", [DOGS]).otlp_json())
    return sorted(spans, key=lambda span: "parentSpanId" in span)


def test_spans_without_ids_or_times_are_counted(pair):
    root, child = pair
    wrong = (
        {"traceId": ""}, {"spanId": "0" * 16}, {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -5},
    )  # fmt: skip
    [trace], faults = read([*(root | change for change in wrong), child])
    assert trace.query == "dogs"  # its parent is not there
    assert faults == {"no trace id or span id": 2, "no start time": 2}


def test_clocks_that_disagree_circles_and_ids_that_come_twice(pair):
    root, child = pair
    early = {**child, "startTimeUnixNano": "1000000000000000000", "endTimeUnixNano": "2"}
    [trace], faults = read([root, early, {**early, "name": "again"}])
    assert trace.steps[0].milliseconds == 0
    assert faults == {
        "span whose clock is not that of its parent (kept)": 2,
        "span with an id that came before": 1,
    }
    circle = {**root, "parentSpanId": child["spanId"]}
    assert read([circle, child]) == ([], {"span that is its own ancestor": 2})


def test_two_requests_under_one_trace_id_are_two_searches():
    spans = []
    for query in ("dogs", "ferry"):
        for span in list_spans(emit_search(query, [DOGS]).otlp_json()):
            spans.append({**span, "traceId": "ab" * 16})
    found, _ = read(spans)
    assert [(trace.id, trace.query) for trace in found] == [
        ("ab" * 16, "dogs"),
        (f"{'ab' * 16}-2", "ferry"),
    ]


def test_a_trace_or_a_search_of_too_many_spans_is_passed_over(pair, tmp_path, monkeypatch):
    root, child = good = pair
    many = [child | {"spanId": f"{i + 1:016x}", "traceId": "ab" * 16} for i in range(60)]
    roots = [span | {"parentSpanId": ""} for span in many]
    path = write(tmp_path, [*good, *roots])
    monkeypatch.setattr(traces, "MOST_SPANS", 50)
    found, faults = read(path)
    assert (len(found), faults) == (61, {})  # a search each
    monkeypatch.setattr(traces, "LINE", 5_000)
    [trace], faults = read(path)
    assert (trace.query, faults) == ("dogs", {"trace of more than 64 MB": 1})
    monkeypatch.undo()
    monkeypatch.setattr(traces, "MOST_SPANS", 50)
    path = write(tmp_path, [root | {"traceId": "ab" * 16}, *many])
    with pytest.raises(AssayError, match="; 1 × search of more than 50 spans"):
        reading.read([str(path)], None, None, False, "traces", Quiet())


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b'{"resourceSpans":' + b"[" * 200_000,
        b'{"resourceSpans":' + b'{"a":' * 200_000,
        b'{\n"a":\n' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b"[" * 2_000_000,
    ],
)
def test_depth_costs_neither_time_nor_memory(content):
    tracemalloc.start()
    try:
        with pytest.raises(AssayError, match="document nested more than 200 deep"):
            read(content)
        assert tracemalloc.get_traced_memory()[1] < 500_000_000  # once more than 20 GB
    finally:
        tracemalloc.stop()


def test_what_stands_before_excess_is_read():
    batch = json.dumps(emit_search("dogs", [DOGS]).otlp_json())
    [trace], faults = read(f'{batch[:-1]}, "x": {"[" * 10_000}'.encode())
    assert trace.query == "dogs"
    assert faults == {"document nested more than 200 deep": 1}


def test_an_object_of_too_many_values_is_counted_and_the_next_is_read(monkeypatch):
    [large, good] = (emit_search(query, [DOGS]).otlp_json() for query in ("ferry", "dogs"))
    for span in list_spans(large):
        span["attributes"] += [{"key": f"k{i}", "value": {"intValue": i}} for i in range(1_000)]
    monkeypatch.setattr(files, "LINE", 64_000)
    [trace], faults = read([*list_spans(large), *list_spans(good)])
    assert trace.query == "dogs"
    assert faults == {"object of more than 0 MB": 2}


def test_a_packed_file_out_of_proportion_is_not_unpacked(tmp_path, monkeypatch):
    good = json.dumps(emit_search("dogs", [DOGS]).otlp_json())
    lines = f"{good}\n{' ' * 20_000_000}\n{good}\n"
    path = write(tmp_path, gzip.compress(lines.encode()), "a.jsonl.gz")
    assert len(read(path)[0]) == 1
    monkeypatch.setattr(bounds, "SMALL", 1_000_000)
    [trace], faults = read(path)
    assert trace.query == "dogs"
    assert "over 100 times its size" in next(iter(faults))


def test_parquet_out_of_proportion_is_not_unpacked(tmp_path, monkeypatch):
    import pyarrow
    from pyarrow import parquet

    [good] = [i for i in list_spans(emit_search("dogs", [DOGS]).otlp_json()) if "parentSpanId" in i]
    row = {"context.trace_id": good["traceId"], "context.span_id": good["spanId"]}
    row |= {"start_time": 1, "attributes.input.value": "dogs", "span_kind": "RETRIEVER"}
    row |= {"attributes.retrieval.documents": json.dumps([DOGS]), "attributes.x": "x" * 1_000}
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([row] * 50_000), path)
    monkeypatch.setattr(bounds, "SMALL", 5_000_000)
    [trace], faults = read(path)
    assert trace.query == "dogs"
    assert path.stat().st_size < 100_000
    assert any("over 100 times its size" in fault for fault in faults)


def write_huge(folder, form):
    good = emit_search("dogs", [DOGS])
    huge = b"x" * 100_000_000
    hole = emit_search("ferry", [{**FERRY, "text": "HOLE"}]).otlp_json()
    batches = [hole, good.otlp_json()]
    if form == "a.jsonl":
        text = "".join(f"{json.dumps(batch)}\n" for batch in reversed(batches))
    else:
        text = json.dumps([span for batch in batches for span in list_spans(batch)])
    return write(folder, text.encode().replace(b"HOLE", huge), form)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("form", ["a.jsonl", "a.json"])
def test_an_attribute_of_100_mb_costs_bounded_memory(form, tmp_path):
    """Read in a process whose peak is its own. Written in another, since that takes 600 MB."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        path = pool.submit(write_huge, tmp_path, form).result()
    script = (
        "import sys\n"
        "from assay.eval.studies.traces.traces import open_book\n"
        "with open_book(sys.argv[1:]) as book:\n"
        "    print([trace.query for trace in book.traces() if trace.query == 'dogs'])\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, peak = done.stdout.splitlines()
    assert found == "['dogs']"
    assert int(peak) < 600_000  # KB


def test_hostile_names_and_texts_are_shown_harmless():
    spans = list_spans(emit_search("dogs", [DOGS]).otlp_json())
    spans[0]["name"] = "\x1b[31mred\u202e::error::" + "x" * 10_000
    spans[0]["attributes"].append({"key": "input.value", "value": {"stringValue": "a \ud800 dog"}})
    [trace], _ = read(spans)
    name = trace.steps[0].name
    assert "\x1b" not in name
    assert "\u202e" not in name
    assert len(name) <= 60
    trace.query.encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b'{"a": 1}', "no trace id or span id"),
        (b"{", TORN),
        (b"\x1f\x8b rubbish", "packed file is damaged"),
        (b"\x0a\x05rubbish", "neither JSON nor Parquet"),
        (b"PAR1 rubbish", "cannot be read as Parquet"),
        (b'{"resourceSpans": 5}', "no list where spans should be"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [5]}]}]}]}', "not an obj"),
        (None, "there is no such file"),
    ],
)
def test_what_holds_no_span_is_refused_in_a_line(content, reason, tmp_path):
    path = tmp_path / "x.bin"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AssayError) as told:
        read(path)
    assert str(told.value).startswith(f"{path}: ")
    assert reason in str(told.value)
    assert "\n" not in str(told.value)


def measure_peak(folder, searches):
    """Return the most bytes of Python's that reading so many searches into files takes."""
    found = [{"id": f"c{i}", "text": f"passage {i}", "score": 0.5} for i in range(10)]
    spans = list_spans(emit_search("dogs", found).otlp_json())
    path = folder / f"{searches}.jsonl"
    with path.open("w") as file:
        for i in range(searches):
            for span in spans:
                file.write(f"{json.dumps(span | {'traceId': f'{i + 1:032x}'})}\n")
    tracemalloc.start()
    try:
        reading.read([str(path)], None, folder / f"out{searches}", True, "traces", Quiet())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_searches(tmp_path):
    measure_peak(tmp_path, 1)  # what is imported stays
    few, many = (measure_peak(tmp_path, searches) for searches in (100, 1_000))
    # The rows of a search are 10 KB; what is kept of it, its times, is a few bytes.
    assert (many - few) / 900 < 500


def test_a_full_disk_is_told_in_a_line(tmp_path, monkeypatch):
    connect = sqlite3.connect

    def connect_to_little(name):
        made = connect(name)
        made.execute("PRAGMA max_page_count = 3")
        return made

    monkeypatch.setattr(sqlite3, "connect", connect_to_little)
    path = write(tmp_path, emit_search("dogs", [{**DOGS, "text": "x" * 50_000}]).line())
    with pytest.raises(AssayError, match="temporary file of spans: database or disk is full"):
        read(path)


def test_what_holds_no_search_leaves_no_folder(tmp_path):
    emitter = Emitter()
    with emitter.span("chain", input__value="dogs"):
        pass
    path = write(tmp_path, emitter.line())
    with pytest.raises(AssayError, match="no span tells retrieved documents"):
        reading.read([str(path)], None, tmp_path / "out", True, "traces", Quiet())
    assert not (tmp_path / "out").exists()
