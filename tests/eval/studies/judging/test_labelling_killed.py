"""`assay label` killed between any two of its steps: the next call finds a sealed collection."""

import os
from multiprocessing import get_context
from pathlib import Path

from samples.judged_guide import call, pair, read_grades, write_table

from assay.eval.cli.main import main
from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check


def label_killed(table, left):
    """End as a killed process does, before the file system is changed for the nth time."""

    def count(owner, name):
        done = getattr(owner, name)

        def change(*given, **named):
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return done(*given, **named)

        setattr(owner, name, change)

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
        count(owner, name)
    main(["label", str(table)])


def test_killed_at_every_step(tiny, tmp_path):
    table = write_table(tmp_path / "pool.csv", {pair("r", "Use apt."): "1"})
    before = {path: path.read_bytes() for path in tiny.rglob("*") if path.is_file()}
    codes = []
    while not codes or codes[-1] == 9:
        for path in [path for path in tiny.rglob("*") if path.is_file()]:
            path.unlink()
        for path, content in before.items():
            path.write_bytes(content)
        labelling = get_context("fork").Process(target=label_killed, args=(table, len(codes)))
        labelling.start()
        labelling.join()
        codes.append(labelling.exitcode)
        assert call(table).exit_code == 0
        card = read_card(tiny / "dataset.yaml")
        assert not [problem for problem in check(card) if problem.severity == "error"]
        assert len(read_grades("tiny")["r"]) == 2
        assert not (tiny / ".dataset.yaml.labelling").exists()
    assert codes[-1] == 0
    assert len(codes) > 6
