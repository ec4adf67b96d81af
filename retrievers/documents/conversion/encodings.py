"""Bytes to text: by their byte order mark, as UTF-8, or in the most likely encoding."""

import codecs

# A mark of UTF-32 begins with one of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What text files are still found in, in the order that decides between equally likely ones:
# short texts leave several. cp1252 is what Windows makes of Latin-1.
CANDIDATES = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "cp949",
)  # fmt: skip
WORST_MESS = 0.3


class NotTextError(Exception):
    """Bytes are no text. The message says why, in words for the owner of the file."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of `data` and its encoding; line ends stay as they are.

    A mark of UTF-8 stays in the text, so that offsets are those of the file. Raises
    NotTextError.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), encoding
            except UnicodeDecodeError:
                raise NotTextError(f"has the mark of {encoding} and is not {encoding}") from None
    if b"\0" in data:
        raise NotTextError("is not text: it holds NUL bytes (UTF-16 is read if it has its mark)")
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        encoding = _guess(data)
        return data.decode(encoding), encoding


def _guess(data: bytes) -> str:
    import charset_normalizer

    found = charset_normalizer.from_bytes(
        data, cp_isolation=list(CANDIDATES), threshold=WORST_MESS, preemptive_behaviour=False
    )
    best = found.best()
    if best is None:
        raise NotTextError("is not text in any encoding that is known here")
    likeliest = [
        match for match in found if (match.chaos, -match.coherence) <= (best.chaos, -best.coherence)
    ]
    possible = {name for match in likeliest for name in match.could_be_from_charset}
    return next(name for name in CANDIDATES if name in possible)
