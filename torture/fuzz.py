"""Every reader of files, given files that no person writes: it reads, or says in one line why not.

Hypothesis takes a sound file apart and puts into it what breaks readers: deep nesting, numbers
without end, control characters, halves of characters, parts that stand twice.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from torture.commands import ROOT
from torture.kills import Outcome

HOSTILE = [
    b"\x00", b"\xff\xfe", b"\x1b[2J", b"\r", b"\n", b"\xed\xa0\x80", b"\xe2\x80\xae", b'"', b"{",
    b"}", b"[" * 2000, b"9" * 400, b"9" * 5000, b"1e999", b"NaN", b"-Infinity", b"null", b"{}",
    b"[]", b"true", b": ", b"- ", b"&a *a", b"!!python/object:os.system x", b"../../etc/passwd",
    b"x" * 300, b",", b"\t", b"::error::x", b"x" * 140_000, b"\xef\xbb\xbf", b"-1", b"0.5",
]  # fmt: skip
CARD = b"name: t\ntitle: T\nformat: native\ndocuments: docs\njudgments: {all: j.jsonl}\n"
CONFIG = b"name: x\ndataset: mine\nretriever: {legs: {w: {type: bm25, k1: 1.2, depth: 10}}}\n"
JUDGMENTS = b'{"query_id": "q", "path": "a.md", "start": 0, "end": 3, "grade": 1}\n'
TREC = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n"
TABLE = b"query_id,query,doc_id,start,end,text,grade,digest,collection\nq,how,a.md,0,3,abc,1,ff,t\n"
QUESTIONS = b"question,quote,grade\nhow?,abc,1\n"
QUESTION = b'{"question": "how?", "quote": "abc"}\n'
LINE = b'{"query_id": "q", "ranking": ["d1", "d2"], "system": "a"}\n'

Reader = tuple[bytes, str, Callable[[Path], object]]


def list_readers() -> Mapping[str, Reader]:
    """Return, by name, a sound file, its name, and what reads it."""
    from assay.eval.collections.authoring import questions, worksheet
    from assay.eval.configs.config import load_config
    from assay.eval.runs import run_files, run_folder, stored
    from assay.eval.studies.gate import baseline
    from assay.eval.studies.targets.settings import load_settings
    from assay.eval.studies.tuning.spaces import read_space
    from assay.eval.studies.tuning.sweep_running import read_sweep
    from assay.retrievers.settings.files import read_mapping

    return {
        "YAML": (CONFIG, "x.yaml", read_mapping),
        "config": (CONFIG, "x.yaml", load_config),
        "sweep": (_sound("configs/sweeps/*.yaml"), "x.yaml", read_sweep),
        "search space": (b"axes: {depth: [1, 2]}\n", "x.yaml", read_space),
        "targets": (_sound("configs/targets.yaml"), "x.yaml", load_settings),
        "card": (CARD, "dataset.yaml", _load_collection),
        "documents": (b"---\ntitle: x\n---\n# A\n\nabc\n", "docs/a.md", _load_collection),
        "queries": (b'{"_id": "q", "text": "how"}\n', "queries.jsonl", _load_collection),
        "judgments": (JUDGMENTS, "j.jsonl", _load_collection),
        "questions, table": (QUESTIONS, "x.csv", questions.read_questions),
        "questions, JSON": (QUESTION, "x.jsonl", questions.read_questions),
        "table of grades": (TABLE, "x.csv", worksheet.read),
        "TREC run": (TREC, "x.trec", run_files.read_run_file),
        "run as JSON": (LINE, "x.jsonl", run_files.read_run_file),
        "baseline": (_sound("reports/baselines/*.json"), "x.json", baseline.read),
        "manifest": (b'{"format": 2, "id": "x"}\n', "manifest.json",
                     lambda path: stored.load(path.parent)),
        "rankings": (b'{"query": "q", "hits": [], "trace": []}\n', "rankings.jsonl",
                     lambda path: run_folder.RunFolder(path.parent).finished_queries()),
    }  # fmt: skip


def _sound(pattern: str) -> bytes:
    """Return the first of the project's own files."""
    return sorted(ROOT.glob(pattern))[0].read_bytes()


def torture_readers(
    cases: int, number: int, deadline: float, say: Callable[[str], None]
) -> list[Outcome]:
    """Give every reader its share of `cases`, until `deadline`."""
    if cases <= 0:
        return []
    readers = list_readers()
    outcomes = []
    for name, reader in readers.items():
        outcome = Outcome(f"fuzz {name}", number)
        _torture(reader, -(-cases // len(readers)), deadline, outcome)
        say(f"{outcome.name}: {outcome.cases} cases, {len(outcome.failures)} failures")
        outcomes.append(outcome)
    return outcomes


def _torture(reader: Reader, cases: int, deadline: float, outcome: Outcome) -> None:
    from assay.retrievers.base import AssayError

    sound, name, read = reader
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)

        @seed(outcome.seed)
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(_spoil(sound))
        def check(content: bytes) -> None:
            if time.monotonic() >= deadline:
                return
            outcome.cases += 1
            path = _lay_out(folder, name, content)
            try:
                read(path)
            except AssayError as error:
                outcome.struck += 1
                if len(str(error)) > 5000 or "Traceback" in str(error):
                    outcome.failures.append(f"{str(error)[:200]}: {content[:200]!r}")
            except Exception as error:
                told = f"{type(error).__name__}: {error}"[:200]
                outcome.failures.append(f"{told}: {content[:200]!r}")

        check()


def _spoil(sound: bytes) -> st.SearchStrategy[bytes]:
    """Return sound content with up to three places changed."""

    def spoil(changes: list[tuple[int, int, bytes]]) -> bytes:
        content = sound
        for i, length, part in changes:
            i %= len(content) + 1
            content = content[:i] + part + content[i + length :]
        return content

    part = st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=8), st.just(sound))
    change = st.tuples(st.integers(0, 100_000), st.integers(0, 12), part)
    return st.lists(change, min_size=1, max_size=3).map(spoil)


def _lay_out(folder: Path, name: str, content: bytes) -> Path:
    """Write a sound collection with `content` in the place of the file `name`; return its path."""
    files: dict[str, bytes] = {
        "dataset.yaml": CARD,
        "docs/a.md": b"abc def\n",
        "queries.jsonl": b'{"_id": "q", "text": "how"}\n',
        "j.jsonl": JUDGMENTS,
        name: content,
    }
    for file, held in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(held)
    return folder / name


def _load_collection(path: Path) -> Any:
    from assay.eval.collections.catalog import read_card
    from assay.eval.collections.loading import load_card

    folder = path.parent.parent if path.parent.name == "docs" else path.parent
    card = read_card(folder / "dataset.yaml")
    return load_card(card, card.variants[0])
