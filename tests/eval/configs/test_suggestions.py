"""What a message offers where a name is nearly right."""

import pytest
from click.testing import CliRunner
from tools.processes import ROOT

from assay.eval.cli.main import assay, main


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["rnu"], "run"),
        (["comapre", "--help"], "compare"),
        (["run", "configs/bm52.yaml"], "configs/bm25.yaml"),
        (["dataset", "show", "harborline"], "harbourline"),
        (["run", "configs/bm25.yaml", "dataset=tarnwik"], "tarnwick"),
        (["report", "bm52-tarnwick-1"], "bm25-tarnwick-1"),
        (["run", "configs/bm25.yaml", "dataset=tarnwick:dve"], "dev"),
        (["run", "configs/bm25.yaml", "retriever.legs.keyword.vriant=okapi"], "variant"),
        (["run", "configs/bm25.yaml", "retriever.legs.keyword.variant=Lucene"], "lucene"),
        (["run", "configs/bm25.yaml", "retriever.legs.keyword.type=bm2"], "bm25"),
        (["run", "configs/bm25.yaml", "retriever.legs.keyword.analyzer=englisch"], "english"),
        (["run", "configs/hybrid.yaml", "retriever.fusion.weights={dens: 1}"], "dense"),
        (
            ["run", "configs/hybrid.yaml", "retriever.legs.dense.encoder=bge-smal-en"],
            "bge-small-en-v1.5",
        ),
        (["run", "configs/bm25.yaml", "measures=[ndgc@10]"], "nDCG@10"),
        (["parity", "qdrant-egde", "harbourline"], "qdrant-edge"),
        (["run", "configs/hybrid_rrf.yaml", "--engine", "squlite"], "sqlite"),
        (["targets", "HTI", "--file", "{targets}"], "HIT"),
        (["models", "fetch", "bge-small-en"], "bge-small-en-v1.5"),
        (["cache", "clear", "bm52"], "bm25"),
    ],
)
def test_the_name_that_was_meant_is_offered(monkeypatch, capsys, tmp_path, arguments, meant):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    (tmp_path / "bm25-tarnwick-1").mkdir()
    (tmp_path / "bm25-tarnwick-1" / "manifest.json").touch()
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "bm25").mkdir(parents=True)
    targets = tmp_path / "targets.yaml"
    targets.write_text("targets: {HIT: {criterion: later, as_written: later, reason: later}}")
    arguments = [item.replace("{targets}", str(targets)) for item in arguments]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "group", ["baseline", "cache", "config", "dataset", "engines", "models", "runs"]
)
def test_what_a_command_is_for_fits_a_line_of_80_columns(group):
    shown = CliRunner().invoke(assay, [group, "--help"], terminal_width=80).output
    commands = shown.partition("Commands:\n")[2].splitlines()
    assert commands
    assert not [line for line in commands if line.endswith("...")]
