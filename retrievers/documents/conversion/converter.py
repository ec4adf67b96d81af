"""The process that converts: one request after another, until there are no more.

`conversion` starts it as `python -m assay.retrievers.documents.conversion.converter`. It may be
killed at any moment. A request is a line of JSON, `{"suffix": ".pdf", "size": 1234}`, and as many
bytes. An answer is a line of JSON: `text`, `title`, `pages` (where each begins in the text, none
where that is not known) and `seconds`, or a `reason` why there is none.
"""

import contextlib
import io
import json
import os
import re
import sys
import time
import warnings
from typing import Any

from assay.retrievers.documents.conversion.page_headings import mark_headings, read_lines
from assay.retrievers.documents.conversion.page_starts import find_pages

NAVIGATION = "nav, [role=navigation], [role=contentinfo], footer"
CONTENT = ("article", "blockquote", "section", "aside")
BYTES_OF_MEMORY = 2 << 30
CONVERTERS = {
    ".docx": "DocxConverter",
    ".epub": "EpubConverter",
    ".htm": "HtmlConverter",
    ".html": "HtmlConverter",
    ".pdf": "PdfConverter",
    ".pptx": "PptxConverter",
    ".xlsx": "XlsxConverter",
}
HTML = (".htm", ".html")
BLANK_LINES = re.compile(r"\n{3,}")
LINE_TAILS = re.compile(r"(?<![^\S\n])[^\S\n]+$", re.M)


def main() -> None:
    """Answer the requests on standard input."""
    # Whatever the libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
    warnings.simplefilter("ignore")
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    _limit_memory()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        answer = _convert(request["suffix"], sys.stdin.buffer.read(request["size"]))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _convert(suffix: str, data: bytes) -> dict[str, Any]:
    # The converters are called by themselves: markitdown as a whole would try others where one
    # fails, and take a broken document for a ZIP archive or for plain text.
    try:
        from markitdown import StreamInfo, converters

        begin = time.perf_counter()
        if suffix in HTML:
            data = strip_surroundings(data)
        converter = getattr(converters, CONVERTERS[suffix])()
        told = StreamInfo(extension=suffix)
        # A table needs a head in Markdown: where a document names none, its first row.
        result = converter.convert(io.BytesIO(data), told, table_infer_header=True)
        text = tidy(result.markdown)
        pages: list[int] = []
        if suffix == ".pdf":
            lines = list(read_lines(data))
            text = tidy(mark_headings(text, lines))
            pages = find_pages(text, lines)
        seconds = time.perf_counter() - begin
    except MemoryError:
        return {"reason": f"needs more than {BYTES_OF_MEMORY >> 30} GB of memory to convert"}
    except Exception as error:  # each format has libraries, and errors, of its own
        return {"reason": _explain(error)}
    return {"text": text, "title": result.title or "", "pages": pages, "seconds": seconds}


def tidy(text: str) -> str:
    """Return `text` as markitdown leaves it, and without page breaks and what UTF-8 lacks."""
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\f", "")
    return BLANK_LINES.sub("\n\n", LINE_TAILS.sub("", text)).strip()


def _explain(error: BaseException) -> str:
    chain = [error, error.__cause__, error.__context__]
    if any("Password" in type(item).__name__ for item in chain):
        return "is protected by a password"
    said = " ".join(str(error).split()) or "no reason given"
    return f"cannot be converted: {type(error).__name__}: {said[:200]}"


def _limit_memory() -> None:
    """Let allocation fail beyond the limit, where the system can; elsewhere time is the limit."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (BYTES_OF_MEMORY, BYTES_OF_MEMORY))


def strip_surroundings(data: bytes) -> bytes:
    """Return an HTML page without its navigation and its footer, in UTF-8 where it had any.

    The footer of an article or a section belongs to it, and stays. A page that is nothing else is
    returned as it is.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "html.parser", from_encoding="utf-8")
    around = [item for item in soup.select(NAVIGATION) if not _belongs(item)]
    for item in around:
        item.extract()
    body = soup.find("body") or soup
    return str(soup).encode("utf-8", "replace") if around and body.get_text(strip=True) else data


def _belongs(item: Any) -> bool:
    return item.name == "footer" and item.find_parent(CONTENT) is not None


if __name__ == "__main__":
    main()
