"""The benchmark of adapters beside their clients: who is asked when, and what it ends with."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from assay.retrievers.engines.raw_client import BareClient

from assay.eval.collections.collection import Query
from assay.retrievers.base import Quiet
from benchmarks.adapter_timing import (
    ADAPTER,
    BOUND,
    CLIENT,
    CONTROL,
    check_client,
    compare_client,
    main,
)

TIMES = [4.0 + 0.01 * (i * 7 % 40) for i in range(80)]


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(0.9, "within"), (1.1, "within"), (1.19999, "cannot tell"), (1.4, "over")],
)
def test_the_whole_interval_counts(factor: float, verdict: str) -> None:
    noisy = [taken * factor * (1 + 0.01 * (i % 5 - 2)) for i, taken in enumerate(TIMES)]
    again = [1.02 * taken for taken in TIMES]
    found = compare_client("dense", {ADAPTER: noisy, CLIENT: TIMES, CONTROL: again})
    assert found.control.value == pytest.approx(1.02)
    assert found.ratio.value == pytest.approx(factor, rel=0.02)
    assert found.verdict == verdict
    assert BOUND == 1.2


def test_adapter_and_client_are_asked_twice_in_each_turn() -> None:
    asked: list[tuple[str, str]] = []

    def ready(text: str, _: int) -> Any:
        return lambda: asked.append(("client", text))

    engine = SimpleNamespace(
        open_bare=lambda: BareClient(None, ready, lambda: None),
        dense=None,
        keyword=lambda text, _: asked.append(("adapter", text)),
        metadata=dict,
    )
    queries = [Query(f"q{i}", f"text {i}") for i in range(12)]
    bench = SimpleNamespace(timed=queries, encoded={})
    configured: Any = SimpleNamespace(label="one")
    check = check_client(cast(Any, bench), configured, cast(Any, engine), Quiet())
    assert check is not None
    assert [item.search for item in check.lists] == ["keyword"]
    turns = [asked[i : i + 4] for i in range(0, len(asked), 4)]
    assert all(len({text for _, text in turn}) == 1 for turn in turns)
    assert {tuple(sorted(who for who, _ in turn)) for turn in turns} == {
        ("adapter", "adapter", "client", "client")
    }
    assert {[who for who, _ in turn].index("adapter") for turn in turns} == {0, 1}  # alternately


def test_an_engine_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("apsw", reason="needs the extra `sqlite`")
    options = ["sqlite", "--dataset", "harbourline", "--limit", "10", "--output", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main([*options, "--json"])
    found = json.loads(capsys.readouterr().out)
    (check,) = found["checks"]
    assert [item["search"] for item in check["lists"]] == ["dense", "keyword"]
    for item in check["lists"]:
        for shown in (item["ratio"], item["control"]):
            assert shown["low"] <= shown["value"] <= shown["high"]
        assert item["verdict"] in ("within", "over", "cannot tell")
    assert ended.value.code == any(item["verdict"] == "over" for item in check["lists"])
    page = (tmp_path / "engine_clients.md").read_text()
    assert "| sqlite | 3." in page
    assert "`python -m benchmarks.adapter_timing sqlite --dataset harbourline --limit 10`" in page


def test_what_cannot_be_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["nothing"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("benchmark: ")
