"""Regular expressions that are compiled when they are first used."""

import re

import pytest

from assay.retrievers.base import patterns
from assay.retrievers.base.patterns import compile_late


def test_a_late_pattern_is_compiled_once_and_finds_what_another_does(monkeypatch):
    compiled = []

    def note(pattern, flags=0):
        compiled.append(pattern)
        return re.compile(pattern, flags)

    monkeypatch.setattr(patterns, "re", type("Noting", (), {"compile": staticmethod(note)}))
    late, early = compile_late(r"(?P<word>[a-z]+)\d", re.IGNORECASE), re.compile("(?i)([a-z]+)\\d")
    assert not compiled
    assert late.pattern == r"(?P<word>[a-z]+)\d"
    for text in ("Ab1 cd2", "none", "x9"):
        assert late.findall(text) == early.findall(text)
    assert late.search("Ab1")["word"] == "Ab"
    assert len(compiled) == 1
    with pytest.raises(re.error):
        compile_late("(").match("text")
