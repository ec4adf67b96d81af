"""The prompt that asks a language model about a chunk: Anthropic's contextual retrieval.

The prompt is that of https://www.anthropic.com/news/contextual-retrieval, word for word. A
document that exceeds the model's window is shown in part: its opening, which introduces it, and the
text around the chunk.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.base import Chunk, Document
from assay.retrievers.language_models.base import USUAL_BYTES_PER_TOKEN, Prompt

PROMPT_VERSION = 1  # raise it when the words below change: contexts are kept by it
DOCUMENT = "<document>\n{document}\n</document>"
QUESTION = (
    "Here is the chunk we want to situate within the whole document\n"
    "<chunk>\n{chunk}\n</chunk>\n"
    "Please give a short succinct context to situate this chunk within the overall document for "
    "the purposes of improving search retrieval of the chunk. Answer only with the succinct "
    "context and nothing else."
)
MARK = re.compile(r"<\s*/(?=\s*(?:document|chunk)\s*>)", re.IGNORECASE)
# An answer of the usual length, which is 50 to 100 tokens.
USUAL = (
    "This chunk is from the second part of the guide, which sets out who may apply for a permit, "
    "and it names the office that decides, the time in which it has to and what may be done by "
    "those whom it turns down in the years after."
)
GAP = "\n[…]\n"
# Share of the window; the rest is for the chunk, which is in the prompt twice, and the question.
DOCUMENT_SHARE = 0.75
OPENING_SHARE = 0.125  # share of the shown part of a document


@dataclass(frozen=True, slots=True)
class View:
    """The shown part of a document: its characters up to `opening`, then `start` to `end`."""

    opening: int
    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the shown part of `text`, with a mark where something is left out."""
        if self.start <= self.opening:
            shown = text[: self.end]
        else:
            shown = text[: self.opening] + GAP + text[self.start : self.end]
        return shown if self.end >= len(text) else shown + GAP.rstrip("\n")

    def is_whole(self, text: str) -> bool:
        """Return True if nothing is left out of `text`."""
        return self.start <= self.opening and self.end >= len(text)


def find_view(text: str, span: tuple[int, int], window: int) -> View:
    """Return the view of `text` around `span` in a prompt of at most about `window` tokens.

    Long documents are shown through windows that overlap by half, so that neighbouring chunks
    share one, and with it the provider's cache; each chunk gets the one it lies most central in.
    """
    size = int(window * USUAL_BYTES_PER_TOKEN * DOCUMENT_SHARE)
    total = len(text.encode())
    if total <= size:
        return View(0, 0, len(text))
    characters = max(2, size * len(text) // total)
    opening = int(characters * OPENING_SHARE)
    body = characters - opening
    step = max(1, body // 2)
    start, end = span
    last = max(0, -(-(len(text) - body) // step))
    number = min(last, max(0, round(((start + end) / 2 - body / 2) / step)))
    begin = number * step
    return View(opening, min(begin, start), min(len(text), max(begin + body, end)))


def describe(document: Document) -> str:
    """Return the text of `document`, below its title unless the text has it."""
    if document.title.strip() and document.title not in document.text:
        return f"{document.title}\n\n{document.text}"
    return document.text


def make_prompt(document: str, chunk: str, *, shared: bool, key: str = "") -> Prompt:
    """Return the prompt about `chunk`; `document` is the shown part of its document.

    Neither can close the mark around it. `key` is the key of the kept answer.
    """
    document, chunk = (MARK.sub("< /", text) for text in (document, chunk))
    shown, asked = DOCUMENT.format(document=document), QUESTION.format(chunk=chunk)
    return Prompt(shown, asked, shared, USUAL, key)


def in_order(documents: Sequence[Document], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return `chunks` in the order of `documents`."""
    place = {document.id: number for number, document in enumerate(documents)}
    return sorted(chunks, key=lambda chunk: (place[chunk.doc_id], chunk.start, chunk.end, chunk.id))
