"""The ledger: what every call has cost, on disk before and after it, and a budget over it.

The most a call can use is written down before it is sent. A process killed at any moment leaves
its calls either settled or counted at their worst, so that a budget holds over all its runs. The
file holds tokens; what they cost is reckoned with the prices of the day.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, Self

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

    def as_json(self) -> dict[str, Any]:
        """Return the account as JSON values."""
        return asdict(self)


class CallRecorder(Protocol):
    """Where calls are entered before and after they are made; see Ledger."""

    budget: float | None

    def reserve(self, prompt: int, output: int) -> str | None: ...  # noqa: D102

    def settle(self, call: str, usage: Usage) -> bool: ...  # noqa: D102

    def release(self, call: str) -> None: ...  # noqa: D102

    def lose(self, call: str) -> None: ...  # noqa: D102


class NoLedger:
    """Lets every call pass, and writes nothing: for calls without a budget."""

    budget: float | None = None

    def reserve(self, prompt: int, output: int) -> str:
        """Let the call pass."""
        return "call"

    def settle(self, call: str, usage: Usage) -> bool:
        """Nothing was reserved, so nothing is exceeded."""
        return True

    def release(self, call: str) -> None:
        """Nothing was entered."""

    def lose(self, call: str) -> None:
        """Nothing was entered."""


class CostLedger:
    """The account of one job in the file at `path`; `budget` in US dollars bounds all its runs.

    One process at a time may hold it open. Not safe to call from several threads.
    """

    def __init__(self, path: Path, prices: Prices | None, budget: float | None) -> None:
        self._path = path
        self._prices = prices
        self._lock = FileLock(path.with_suffix(".lock"))
        self._open: dict[str, float] = {}
        self.budget = budget
        self.earlier = CallTotals()
        self.run = CallTotals()

    def __enter__(self) -> Self:
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise AssayError(
                    "another process is asking the same model about the same chunks;"
                    " wait for it, or stop it"
                ) from None
        if self._path.exists() and self._path.read_bytes()[-1:] not in (b"", b"\n"):
            self._append("\n")  # a line torn by a kill must not swallow the next one
        self.earlier = read_account(self._path, self._prices)
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def as_json(self) -> dict[str, Any]:
        """Return the account of this run and that of earlier ones as JSON values."""
        return {"run": self.run.as_json(), "earlier": self.earlier.as_json()}

    @property
    def committed_usd(self) -> float:
        """The most that all runs can have cost, with the calls that are under way."""
        done = self.earlier.committed_usd + self.run.committed_usd
        return done + sum(self._open.values())

    def reserve(self, prompt: int, output: int) -> str | None:
        """Enter a call of at most so many tokens; return its number, or None if the budget ends.

        None does not mean that nothing is left: calls under way may turn out to cost less.
        """
        worst = _worst(self._prices, prompt, output)
        if self.budget is not None and self.committed_usd + worst > self.budget:
            return None
        call = secrets.token_hex(8)
        i = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"call": call, "at": i, "most_prompt": prompt, "most_output": output})
        self._open[call] = worst
        return call

    def settle(self, call: str, usage: Usage) -> bool:
        """Enter what a call used; return whether it cost no more than was reserved for it."""
        account = _settled(usage, self._prices)
        self.run += account
        self._write({"call": call, "end": "settled", "usage": asdict(usage)})
        return account.usd <= self._open.pop(call)

    def release(self, call: str) -> None:
        """Enter that a call cost nothing: it was turned down, or never sent."""
        del self._open[call]
        self._write({"call": call, "end": "released"})

    def lose(self, call: str) -> None:
        """Enter that nobody knows what a call cost: it counts at its worst."""
        self.run += _lost(self._open.pop(call))
        self._write({"call": call, "end": "lost"})

    def _write(self, row: Mapping[str, Any]) -> None:
        self._append(json.dumps(row) + "\n")

    def _append(self, text: str) -> None:
        append(self._path, text)


class SharedLedger:
    """A ledger that any number of processes and threads write to at once, under one budget.

    What others have entered is read before each call is; their calls that are under way, or were
    when they were killed, count at their worst.
    """

    def __init__(self, path: Path, prices: Prices, budget: float) -> None:
        self.budget: float | None = budget
        self._path = path
        self._prices = prices
        self._lock = FileLock(path.with_suffix(".lock"))
        self._calls: dict[str, float] = {}  # the most that each can have cost
        self._read_to = 0

    def reserve(self, prompt: int, output: int) -> str | None:
        """Enter a call of at most so many tokens; return its number, or None if the budget ends."""
        worst = self._prices.worst(prompt, output)
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._catch_up()
            if self.budget is None or sum(self._calls.values()) + worst > self.budget:
                return None
            call = secrets.token_hex(8)
            i = datetime.now(UTC).isoformat(timespec="seconds")
            self._write({"call": call, "at": i, "most_prompt": prompt, "most_output": output})
            return call

    def settle(self, call: str, usage: Usage) -> bool:
        """Enter what a call used; return whether it cost no more than was reserved for it."""
        with self._lock:
            self._catch_up()
            reserved = self._calls[call]
            self._write({"call": call, "end": "settled", "usage": asdict(usage)})
            return self._prices.cost(usage) <= reserved

    def release(self, call: str) -> None:
        """Enter that a call cost nothing: it was turned down, or never sent."""
        with self._lock:
            self._write({"call": call, "end": "released"})

    def lose(self, call: str) -> None:
        """Enter that nobody knows what a call cost: it counts at its worst."""
        with self._lock:
            self._write({"call": call, "end": "lost"})

    def _write(self, row: Mapping[str, Any]) -> None:
        self._catch_up()
        append(self._path, json.dumps(row) + "\n")

    def _catch_up(self) -> None:
        """Read what was entered since this was last done; end a line that a kill tore."""
        if not self._path.exists():
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
            except ValueError:
                continue
            if "most_prompt" in row:
                self._calls[row["call"]] = self._prices.worst(
                    row["most_prompt"], row["most_output"]
                )
            elif row["end"] == "settled":
                self._calls[row["call"]] = self._prices.cost(Usage(**row["usage"]))
            elif row["end"] == "released":
                self._calls.pop(row["call"], None)


def read_account(path: Path, prices: Prices | None) -> CallTotals:
    """Return the account in the file at `path`; calls that nobody settled are lost."""
    calls: dict[str, CallTotals] = {}
    for row in _read_rows(path):
        if "most_prompt" in row:
            worst = _worst(prices, row["most_prompt"], row["most_output"])
            calls[row["call"]] = _lost(worst)
        elif row["end"] == "settled":
            calls[row["call"]] = _settled(Usage(**row["usage"]), prices)
        elif row["end"] == "released":
            calls[row["call"]] = CallTotals()
    return sum(calls.values(), CallTotals())


def _worst(prices: Prices | None, prompt: int, output: int) -> float:
    return prices.worst(prompt, output) if prices else 0.0


def _settled(usage: Usage, prices: Prices | None) -> CallTotals:
    return CallTotals(1, usage, prices.cost(usage) if prices else 0.0)


def _lost(worst: float) -> CallTotals:
    return CallTotals(1, lost=1, lost_usd=worst)


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # torn by a kill; the call was not sent, or counts at its worst
            continue
