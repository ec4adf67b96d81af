"""What a message offers where a name is nearly right."""

from pathlib import Path

import pytest
from processes import ROOT

from eval.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["rnu"], "run"),
        (["comapre", "--help"], "compare"),
        (["run", "configs/bm52.yaml"], "configs/bm25.yaml"),
        (["dataset", "show", "harborline"], "harbourline"),
        (["run", "configs/bm25.yaml", "dataset=tarnwik"], "tarnwick"),
        (["report", "bm52-tarnwick-1"], "bm25-tarnwick-1"),
    ],
)
def test_the_name_that_was_meant_is_offered(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    meant: str,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    (tmp_path / "bm25-tarnwick-1").mkdir()
    (tmp_path / "bm25-tarnwick-1" / "manifest.json").touch()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err
