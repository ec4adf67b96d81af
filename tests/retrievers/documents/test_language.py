"""The language of a text that does not state it."""

import pytest

from assay.retrievers.documents import language
from assay.retrievers.documents.language import detect_language, find_language
from assay.retrievers.store.cache import Cache


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The fees of the harbour are twelve euros a night.", "en"),
        ("Die Gebühren des Hafens betragen zwölf Euro für eine Nacht.", "de"),
        ("Les droits du port sont de douze euros par nuit.", "fr"),
        ("港の料金は一晩十二ユーロです。", "ja"),
        ("E17 42", ""),
        (" \n", ""),
    ],
)
def test_a_language_is_told_where_it_is_sure(text, language):
    assert detect_language(text) == language


def test_a_language_is_kept_unless_nothing_could_tell_it(tmp_path, monkeypatch):
    kept, text = Cache(tmp_path), "Die Fähre fährt im Winter zweimal am Tag zu den Inseln."
    monkeypatch.setattr(language, "_load_identifier", lambda: None)
    assert find_language(text, kept) == ""
    monkeypatch.undo()
    assert find_language(text, kept) == "de"
    monkeypatch.setattr(language, "detect_language", lambda _: pytest.fail("told before"))
    assert find_language(text, kept) == "de"
