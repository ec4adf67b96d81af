"""`python -m benchmarks.encoding`: passages encoded a second, by the default encoder's weights.

Each block of real passages goes to every contender in turn, and who begins changes with every
block. Beside the times stands how near a contender's vectors are to those of the file's own graph.
With `--fp32`, which needs the extra `st`, they are held against those of the file's weights in
fp32, computed by transformers: what differs from these is what int8 arithmetic costs.
`--model` compares instead the types of numbers of a model of sentence-transformers, which needs the
extra `st` and shows what a GPU gains.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval import no_telemetry
from assay.retrievers.base import Progress
from benchmarks.latency import ending_in_one_line, positive

if TYPE_CHECKING:
    from assay.retrievers.models.base import Vectors
    from assay.retrievers.settings import Resources

Block = tuple[str, ...]
Encode = Callable[[Sequence[str]], "Vectors"]

COLLECTION = "tarnwick"
BLOCK = 8  # passages that are handed over at once
WANTED = 60.0  # passages a second on two cores
SECONDS = 30.0  # for each contender
REFERENCE = "as given"
IN_FP32 = "the weights in fp32"
FASTEMBED = "fastembed, batches of 8"

# Answers each line of a block with the milliseconds taken: eval/runs/execution/interleaved_timing.
_SCRIPT = """
import json, sys, time
from fastembed import TextEmbedding
name, folder, threads = sys.argv[1:]
model = TextEmbedding(name, specific_model_path=folder, threads=int(threads))
list(model.embed(["warm"]))
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    texts = json.loads(json.loads(line)["query"])
    begin = time.perf_counter()
    list(model.embed(texts, batch_size=len(texts)))
    print(json.dumps({"milliseconds": (time.perf_counter() - begin) * 1000}), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One contender: `rate` in passages a second, `low` to `high` its 95 % interval over blocks.

    `faster` is how many times the reference's rate that is, on the same blocks. Cosines are of a
    passage's vector to the reference's; `moves` is the most that a number of a vector changes
    between a block and the passage alone. `cpu` is processor time in milliseconds a passage, of
    all threads, which a machine that others use too disturbs less. None: not known here.
    """

    name: str
    rate: float
    low: float
    high: float
    faster: float
    cpu: float | None
    mean_cosine: float | None
    lowest_cosine: float | None
    moves: float | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 0, or with 2 and one line on what to mend."""
    options = _read_options(arguments)
    no_telemetry.disable()
    from assay.eval.progress import ConsoleProgress

    with ending_in_one_line():
        rows, tokens = _run(options, ConsoleProgress())
    if options.json:
        told = {"threads": options.threads, "passages": options.passages, "tokens": tokens}
        print(json.dumps({**told, "rows": [asdict(row) for row in rows]}, indent=1))
    else:
        _print(rows, options, tokens)


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoding", description=__doc__)
    parser.add_argument("--passages", type=positive, default=128, metavar="N")
    parser.add_argument("--threads", type=positive, default=2, metavar="N")
    parser.add_argument(
        "--fastembed", metavar="PYTHON", help="an interpreter that has fastembed: timed beside"
    )
    parser.add_argument("--fp32", action="store_true", help="hold vectors against fp32")
    parser.add_argument("--model", metavar="NAME", help="a hub id or folder, by the extra `st`")
    parser.add_argument(
        "--block", type=positive, default=BLOCK, metavar="N", help="passages handed over at once"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace, progress: Progress) -> tuple[list[Row], float]:
    """Return the contenders' rows, and the mean number of tokens of a passage."""
    from assay.eval.runs.execution.interleaved_timing import Process, TimedProcess, alternate
    from assay.eval.studies.stores.engines.synthetic_corpus import read_source
    from assay.retrievers.models.tokens import Tokenizer
    from assay.retrievers.settings import Resources
    from assay.retrievers.store.cache import Cache, default_root

    resources = Resources(Cache(default_root()), progress, options.threads)
    passages = read_source(COLLECTION, resources).passages
    step = max(1, len(passages) // options.passages)
    texts = passages[::step][: options.passages]
    blocks = [tuple(texts[i : i + options.block]) for i in range(0, len(texts), options.block)]
    tokenizer = Tokenizer.default(resources)
    tokens = sum(map(tokenizer.count, texts)) / len(texts)
    make = partial(_make_types, options.model) if options.model else _make_encoders
    encoders = make(resources)
    if options.fp32 and not options.model:
        encoders = {**encoders, IN_FP32: open_in_fp32(resources)}
    spent: dict[str, list[float]] = {name: [] for name in encoders}
    clocks = {name: _clock(encode, spent[name]) for name, encode in encoders.items()}
    with ExitStack() as stack:
        if options.fastembed:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            name = _lay_out(folder, resources)
            call = (options.fastembed, "-c", _SCRIPT, name, str(folder), str(options.threads))
            process = stack.enter_context(Process(TimedProcess(FASTEMBED, call, folder)))
            process.wait_until_ready()
            clocks[FASTEMBED] = lambda block: process.measure(json.dumps(block))
        for encode in encoders.values():  # each loads its model
            encode(["warm"])
        taken = alternate(list(clocks.values()), blocks, SECONDS, progress)
    times = dict(zip(clocks, taken, strict=True))
    return list(_make_rows(times, spent, encoders, blocks)), tokens


def _make_encoders(resources: "Resources") -> Mapping[str, Encode]:
    """Return the ways of this project, and that of batches that are sorted by length and padded."""
    from dataclasses import replace

    from assay.retrievers.models.encoders import EncoderSettings

    alone = replace(resources, threads=1)
    return {
        REFERENCE: EncoderSettings(fused=False).open(resources).encode_passages,
        "fused": EncoderSettings().open(resources).encode_passages,
        "fused, one thread": EncoderSettings().open(alone).encode_passages,
        "as given, batches of 8": _open_batched(resources),
    }


def _make_types(model: str, resources: "Resources") -> Mapping[str, Encode]:
    """Return a model of sentence-transformers called directly, and through this project."""
    from assay.retrievers.models.encoders import EncoderSettings

    def find(**given: str) -> Encode:
        settings = EncoderSettings.model_validate({"model": model, "backend": "st", **given})
        return settings.open(resources).encode_passages

    ours = {name: find(dtype=name) for name in ("float16", "bfloat16")}
    return {REFERENCE: find(), "called directly": _open_directly(model), **ours}


def _open_directly(model: str) -> Encode:
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(model)
    return lambda texts: loaded.encode_document(list(texts), normalize_embeddings=True)


def _open_batched(resources: "Resources") -> Encode:
    """Return what encodes a block as one batch, padded, on threads within each operation."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    files = _find_files(resources)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = resources.threads
    session = onnxruntime.InferenceSession(
        str(files["model"]), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(files["tokenizer"]))
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> "Vectors":
        read = tokenizer.encode_batch(list(texts))
        ids = np.array([item.ids for item in read])
        mask = np.array([item.attention_mask for item in read])
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        first: Vectors = session.run(None, feed)[0][:, 0]
        vectors: Vectors = first / np.linalg.norm(first, axis=1, keepdims=True)
        return vectors

    return encode


def open_in_fp32(resources: "Resources") -> Encode:
    """Return what computes the default encoder's weights, restored from int8, in fp32."""
    import numpy as np
    import torch
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    from assay.retrievers.models.fused_bert import restore_weights

    files = _find_files(resources)
    sizes = BertConfig(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536
    )
    model = BertModel(sizes, add_pooling_layer=False).eval()
    weights = restore_weights(files["model"])
    model.load_state_dict({name: torch.tensor(weights[name]) for name in model.state_dict()})
    tokenizer = Tokenizer.from_file(str(files["tokenizer"]))
    tokenizer.enable_truncation(512)
    tokenizer.no_padding()

    def encode(texts: Sequence[str]) -> "Vectors":
        with torch.no_grad():
            found = [
                model(torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0, 0].numpy()
                for text in texts
            ]
        first: Vectors = np.stack(found)
        vectors: Vectors = first / np.linalg.norm(first, axis=1, keepdims=True)
        return vectors

    return encode


def _find_files(resources: "Resources") -> Mapping[str, Any]:
    from assay.retrievers.model_files.files import locate
    from assay.retrievers.model_files.pins import DEFAULT_ENCODER

    return locate(DEFAULT_ENCODER, "onnx", "encoder", resources).location()


def _lay_out(folder: Path, resources: "Resources") -> str:
    """Put the model into `folder` as fastembed wants it, and return what fastembed calls it."""
    files = _find_files(resources)
    (folder / "model_optimized.onnx").symlink_to(files["model"])
    (folder / "tokenizer.json").symlink_to(files["tokenizer"])
    settings = {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]"},
    }
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return "BAAI/bge-small-en-v1.5"


def _clock(encode: Encode, spent: list[float]) -> Callable[[Block], float]:
    """Return what measures milliseconds and adds processor milliseconds a passage to `spent`."""

    def clock(block: Block) -> float:
        begin, busy = time.perf_counter(), time.process_time()
        encode(block)
        spent.append((time.process_time() - busy) * 1000 / len(block))
        return (time.perf_counter() - begin) * 1000

    return clock


def _make_rows(
    times: Mapping[str, Sequence[float]],
    spent: Mapping[str, Sequence[float]],
    encoders: Mapping[str, Encode],
    blocks: Sequence[Block],
) -> Iterator[Row]:
    """Yield a row a contender; vectors are compared over the first two blocks, or all with fp32."""
    import numpy as np

    from assay.eval.statistics.estimates import estimate_mean, estimate_mean_ratio

    shown = blocks if IN_FP32 in encoders else blocks[:2]
    exact = encoders.get(IN_FP32, encoders[REFERENCE])
    reference = np.vstack([exact(block) for block in shown])
    for name, taken in times.items():
        each = [milliseconds / len(block) for milliseconds, block in zip(taken, blocks)]  # noqa: B905
        mean = estimate_mean(each)
        cosines = moves = None
        if name in encoders:
            encode = encoders[name]
            vectors = np.vstack([encode(block) for block in shown])
            single = np.vstack([encode([text]) for block in shown for text in block])
            cosines = (vectors * reference).sum(axis=1)
            moves = float(np.abs(vectors - single).max())
        yield Row(
            name,
            1000 / mean.value,
            1000 / mean.high,
            1000 / mean.low,
            estimate_mean_ratio(list(taken), list(times[REFERENCE])).value,
            float(np.median(spent[name])) if name in spent else None,
            None if cosines is None else float(cosines.mean()),
            None if cosines is None else float(cosines.min()),
            moves,
        )


def _print(rows: Sequence[Row], options: argparse.Namespace, tokens: float) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.width = max(console.width, 110)
    table = Table(title=f"Passages of {tokens:.0f} tokens, {options.threads} threads")
    for heading in ("", "passages a second", "times", "CPU ms", "cosine, mean", "lowest", "alone"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        known = (row.mean_cosine, row.lowest_cosine)
        table.add_row(
            row.name,
            f"{row.rate:.1f} ({row.low:.1f} … {row.high:.1f})",
            f"{row.faster:.2f}",
            "" if row.cpu is None else f"{row.cpu:.1f}",
            *("" if value is None else f"{value:.4f}" for value in known),
            "" if row.moves is None else f"{row.moves:.1e}",
        )
    console.print(table)
    console.print(
        f"Times: the rate over that of the file's graph, same blocks in turn. CPU: processor time "
        f"a passage, median. Cosine: to that graph's vectors, or those in fp32. Alone: how far a "
        f"number of a vector moves between a block and the passage by itself. Wanted: {WANTED:g} a "
        "second on 2 cores."
    )


if __name__ == "__main__":
    main()
