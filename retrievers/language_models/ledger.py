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
from typing import Any, Self

from filelock import FileLock, Timeout

from retrievers.base import AssayError
from retrievers.language_models.prices import Prices, Usage
from retrievers.store.files import append


@dataclass(frozen=True, slots=True)
class Account:
    """A sum of calls. `lost` calls brought no answer and may have cost `lost_usd`, their worst."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    lost: int = 0
    lost_usd: float = 0.0

    def __add__(self, other: "Account") -> "Account":
        return Account(
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


class Ledger:
    """The account of one job in the file at `path`; `budget` in US dollars bounds all its runs.

    One process at a time may hold it open. Not safe to call from several threads.
    """

    def __init__(self, path: Path, prices: Prices | None, budget: float | None) -> None:
        self._path = path
        self._prices = prices
        self._lock = FileLock(path.with_suffix(".lock"))
        self._open: dict[str, float] = {}
        self.budget = budget
        self.earlier = Account()
        self.run = Account()

    def __enter__(self) -> Self:
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
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"call": call, "at": at, "most_prompt": prompt, "most_output": output})
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


def read_account(path: Path, prices: Prices | None) -> Account:
    """Return the account in the file at `path`; calls that nobody settled are lost."""
    calls: dict[str, Account] = {}
    for row in _read_rows(path):
        if "most_prompt" in row:
            worst = _worst(prices, row["most_prompt"], row["most_output"])
            calls[row["call"]] = _lost(worst)
        elif row["end"] == "settled":
            calls[row["call"]] = _settled(Usage(**row["usage"]), prices)
        elif row["end"] == "released":
            calls[row["call"]] = Account()
    return sum(calls.values(), Account())


def _worst(prices: Prices | None, prompt: int, output: int) -> float:
    return prices.worst(prompt, output) if prices else 0.0


def _settled(usage: Usage, prices: Prices | None) -> Account:
    return Account(1, usage, prices.cost(usage) if prices else 0.0)


def _lost(worst: float) -> Account:
    return Account(1, lost=1, lost_usd=worst)


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # torn by a kill; the call was not sent, or counts at its worst
            continue
