"""The language of a text that does not state it."""

import pytest

from assay.retrievers.documents.language import detect_language


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
def test_a_language_is_told_where_it_is_sure(text: str, language: str) -> None:
    assert detect_language(text) == language
