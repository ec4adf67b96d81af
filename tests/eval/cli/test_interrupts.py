"""An interrupt that meets Python at work: it ends a command, however it comes out."""

import pytest

from assay.eval.cli.main import assay, main


class Interrupted:
    def __set_name__(self, _owner, _name):
        raise KeyboardInterrupt


def make_class(*_, **__):
    type("Made", (), {"field": Interrupted()})  # Python 3.11 wraps what is raised in it


def chain(*_, **__):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise ImportError("half imported") from error


def name_only(*_, **__):
    raise ValueError('Error building "literal" validator: KeyboardInterrupt:')


@pytest.mark.parametrize("work", [make_class, chain, name_only])
def test_what_an_interrupt_became_is_told_as_one(monkeypatch, capsys, work):
    monkeypatch.setattr(assay, "main", work)
    with pytest.raises(SystemExit) as ended:
        main(["components"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "assay: interrupted; what was finished is kept\n"


def test_a_defect_is_no_interrupt(monkeypatch, capsys):
    def fail(*_, **__):
        raise ValueError("odd") from KeyError("x")

    monkeypatch.setattr(assay, "main", fail)
    with pytest.raises(SystemExit) as ended:
        main(["components"])
    assert ended.value.code == 1
    assert "a defect: ValueError: odd" in capsys.readouterr().err
