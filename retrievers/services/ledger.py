"""The ledger: what every call has cost, on disk before and after it, and a budget over it.

The most a call can use is written down before it is sent. A process killed at any moment leaves
its calls either settled or counted at their worst, so that a budget holds over all its runs. The
file holds tokens; what they cost is reckoned with the prices of the day.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from assay.retrievers.base import AssayError
from assay.retrievers.services.prices import Prices, Usage
from assay.retrievers.store.files import append, writing


@dataclass(frozen=True, slots=True)
class CallTotals:
    """A sum of calls. `lost` calls brought no answer and may have cost `lost_usd`, their worst."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    lost: int = 0
    lost_usd: float = 0.0

    def __add__(self, other: "CallTotals") -> "CallTotals":
        return CallTotals(
            self.calls + other.calls,
            self.usage + other.usage,
            self.usd + other.usd,
            self.lost + other.lost,
            self.lost_usd + other.lost_usd,
        )

    @property
    def committed_usd(self) -> float:
        """The most that these calls can have cost."""
        return self.usd + self.lost_usd


@dataclass(frozen=True, slots=True)
class Account:
    """The calls of this run, those of earlier ones, and the budget of all, if there is one."""

    run: CallTotals
    earlier: CallTotals
    budget_usd: float | None


class CostLedger:
    """The account of calls in the file at `path`; `budget` in US dollars bounds all its runs.

    Any number of processes and threads may write to it at once: what others have entered is read
    before each call is, and their calls that are under way, or were when they were killed, count
    at their worst. While it is open, as a context manager, no other process may, and of its
    threads one at a time. Without a `path` every call passes that the budget allows, and nothing
    is written; without `prices` calls cost nothing.
    """

    def __init__(
        self, path: Path | None = None, prices: Prices | None = None, budget: float | None = None
    ) -> None:
        self.budget = budget
        self.earlier = CallTotals()  # of all runs before it was opened
        self.run = CallTotals()  # of the calls that ended here
        self._path = path
        self._prices = prices
        self._file_lock = FileLock(path.with_suffix(".lock")) if path else None
        self._held = False
        self._settled = CallTotals()
        self._unsettled: dict[str, float] = {}  # the most that each call can have cost
        self._read_to = 0

    def __enter__(self) -> Self:
        if self._path and self._file_lock:
            with writing(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    self._file_lock.acquire(timeout=0)
                except Timeout:
                    raise AssayError(
                        "another process is asking the same model about the same chunks;"
                        " wait for it, or stop it"
                    ) from None
        self._held = True
        self.earlier = self.add_up()
        return self

    def __exit__(self, *_: object) -> None:
        self._held = False
        if self._file_lock:
            self._file_lock.release()

    @property
    def account(self) -> Account | None:
        """The account of this command and of earlier ones; None if this one made no call."""
        return Account(self.run, self.earlier, self.budget) if self.run.calls else None

    def add_up(self) -> CallTotals:
        """Return the account of all runs; calls that nobody settled are lost."""
        with self._lock():
            self._catch_up()
        return sum(map(_lost, self._unsettled.values()), self._settled)

    def reserve(self, prompt: int, output: int) -> str | None:
        """Enter a call of at most `prompt` and `output` tokens; return its number.

        None if the budget does not suffice, which does not mean that nothing is left: calls under
        way may turn out to cost less.
        """
        worst = self._find_worst(prompt, output)
        if self._path:
            with writing(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock():
            self._catch_up()
            committed = self._settled.usd + sum(self._unsettled.values())
            if self.budget is not None and committed + worst > self.budget:
                return None
            call = secrets.token_hex(8)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._enter({"call": call, "at": now, "most_prompt": prompt, "most_output": output})
            return call

    def settle(self, call: str, usage: Usage) -> bool:
        """Enter what a call used; return whether it cost no more than was reserved for it."""
        spent = self._count(usage)
        with self._lock():
            self._catch_up()
            reserved = self._unsettled[call]
            self.run += spent
            self._enter({"call": call, "end": "settled", "usage": asdict(usage)})
            return spent.usd <= reserved

    def release(self, call: str) -> None:
        """Enter that a call cost nothing: it was turned down, or never sent."""
        with self._lock():
            self._enter({"call": call, "end": "released"})

    def lose(self, call: str) -> None:
        """Enter that the cost of a call is unknown: it counts at its worst."""
        with self._lock():
            self._catch_up()
            self.run += _lost(self._unsettled[call])
            self._enter({"call": call, "end": "lost"})

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep other processes, and other threads unless it is open, from entering anything."""
        if self._held or self._file_lock is None:
            yield
        else:
            with self._file_lock:
                yield

    def _enter(self, row: Mapping[str, Any]) -> None:
        self._catch_up()
        if self._path is None:
            self._read(row)
        else:
            append(self._path, json.dumps(row) + "\n")

    def _catch_up(self) -> None:
        """Read what was entered since this was last done; end a line that a kill tore."""
        if self._path is None or not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_to)
            fresh = file.read()
        if fresh and not fresh.endswith(b"\n"):
            append(self._path, "\n")
        self._read_to += len(fresh) + bool(fresh and not fresh.endswith(b"\n"))
        for line in fresh.splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # torn by a kill; the call was not sent, or counts at its worst
                continue
            self._read(row)

    def _read(self, row: Mapping[str, Any]) -> None:
        if "most_prompt" in row:
            worst = self._find_worst(row["most_prompt"], row["most_output"])
            self._unsettled[row["call"]] = worst
        elif row["end"] != "lost":
            self._unsettled.pop(row["call"], None)
            if row["end"] == "settled":
                self._settled += self._count(Usage(**row["usage"]))

    def _find_worst(self, prompt: int, output: int) -> float:
        return self._prices.worst(prompt, output) if self._prices else 0.0

    def _count(self, usage: Usage) -> CallTotals:
        return CallTotals(1, usage, self._prices.cost(usage) if self._prices else 0.0)


def _lost(worst: float) -> CallTotals:
    return CallTotals(1, lost=1, lost_usd=worst)
