"""The comparison with trec_eval's own figures finds one that differs."""

import pytest

from benchmarks import outside

FIGURES = "runid all x\nrelstring q1 '10'\nmap q1 0.5000\nP_2 all 0.2500\nutility q1 1.0\n"


@pytest.mark.parametrize(("map_", "differ"), [("0.5000", False), ("0.5002", True)])
def test_a_figure_that_differs_is_named(tmp_path, monkeypatch, capsys, map_, differ):
    tests = tmp_path / "test"
    tests.mkdir()
    (tests / "qrels").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n")
    (tests / "run").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 z 2 1.0 x\n")
    (tests / "aqc").write_text(FIGURES.replace("0.5000", map_))
    monkeypatch.setattr(outside, "TESTS", [("qrels", "run", "aqc", 1)])
    monkeypatch.setattr("sys.argv", ["outside", str(tmp_path)])
    assert outside.main() == differ
    told = capsys.readouterr().out
    assert f"aqc: 2 figures compared, {int(differ)} differ, 1 not named" in told
    assert ("aqc: map q1: 0.5000, not 0.5002" in told) == differ
