"""The texts that `assay init` writes: a card and a config that explain themselves."""

from collections.abc import Mapping
from typing import Any

import yaml

from assay.retrievers.documents.conversion.converters import AnyConverter

CARD = """\
# A judged collection of your documents.
#   assay dataset check {reference}   reports everything that is wrong with it
#   assay dataset seal {reference}    writes sizes and digests again after a change
name: {name}
title: {name}
description: {description}
licence: ""
source: {source}
language: {language}
format: native
location: .
# Every .md and .txt file below this folder is searched.
documents: {documents}
"""

CONVERSIONS = "conversions.jsonl"
ORIGINALS = f"""\
# The files that these were made of, and their digests then: `assay dataset sync` copies again what
# has changed since.
originals: {{originals}}
conversions: {CONVERSIONS}
"""

PAGES = """\
# Where each page of a document begins, for the pages that hits are on.
pages: {pages}
"""

QUESTIONS = """\
# A query is a line {"_id": "q1", "text": "…", "type": "…"}; `type` may be left out.
queries: queries.jsonl
# A judgment names a document and, in it, a span, a section by its heading, or nothing more:
#   {"query_id": "q1", "path": "guide.md", "start": 120, "end": 310, "grade": 1}
#   {"query_id": "q1", "path": "guide.md", "section": "Installing", "grade": 2}
#   {"query_id": "q1", "path": "guide.md"}
judgments:
  test: judgments.jsonl
"""

NO_QUESTIONS = """\
# There are no questions yet, so the documents can be searched and nothing can be measured.
# Write a CSV with the columns question and quote (a passage, word for word, that answers it;
# document, type, grade and id are optional), then:
#   assay init FOLDER --questions questions.csv --force
# or add lines to the two files below; or let a language model write some: assay questions --help
"""

PIPELINE = """\
# A retrieval pipeline for {name}. `assay components` lists all that can stand here;
# `assay run` with this file measures it. As it is written, it is the config `contextual`.
name: contextual
dataset: {dataset}

documents:
  # The passages that are searched: structure, sections cut to size between sentences; fixed,
  # combine_split, parent_child; or document, each file whole.
  chunker: {{type: structure, max_tokens: 800, overlap_tokens: 50}}
  # Put before each passage in every index: auto (contexts.jsonl where there is one; else the
  # headings above it, and for a document without headings its title and first words); headings;
  # opening; opening+headings; collection; none.
  context: {{source: auto}}

retriever:
  # Each leg is one ranked list of `depth` passages. The encoder reads English; others stand in
  # docs/models.md. The analyzer stems words of its language: english, german, french, …
  legs:
    dense: {{type: dense, encoder: bge-small-en-v1.5, depth: 100}}
    keyword: {{type: bm25, analyzer: {analyzer}, depth: 100}}
  # How the lists become one: linear adds weight * score of every leg, scores from 0 to 1, and the
  # leg whose best stands out further counts more; {{type: rrf, k: 60}} adds weight / (k + rank).
  fusion: {{type: linear, normalisation: min-max, confidence: true}}
  # What follows, in order. A cross-encoder reads the best again: slower, and often better.
  stages: []
  #  - {{type: rerank, model: ms-marco-MiniLM-L-12-v2, depth: 24}}
"""


def card_text(
    name: str,
    reference: str,
    documents: str,
    questions: str,
    language: str = "en",
    description: str = "",
    originals: str = "",
    pages: str = "",
    converter: AnyConverter | None = None,
) -> str:
    """Return a card for documents in the folder `documents`, made of the files in `originals`.

    `reference` is what commands call the collection; `questions` is the name of the file the
    questions came from, or who wrote them, "" for none; `language` is a code of ISO 639-1.
    """
    source = f"documents and {questions}" if questions else "documents"
    head = CARD.format(
        name=_scalar(name),
        reference=reference,
        source=_scalar(source),
        documents=_scalar(documents),
        language=_scalar(language),
        description=_scalar(description) if description else '""',
    )
    head += ORIGINALS.format(originals=_scalar(originals)) if originals else ""
    head += _dump({"converter": converter.model_dump(mode="json")}) if converter else ""
    head += PAGES.format(pages=_scalar(pages)) if pages else ""
    return head + ("" if questions else NO_QUESTIONS) + QUESTIONS


def pipeline_text(name: str, dataset: str, analyzer: str = "english") -> str:
    """Return a config for the collection that `dataset` names."""
    return PIPELINE.format(name=_scalar(name), dataset=_scalar(dataset), analyzer=analyzer)


def _dump(values: Mapping[str, Any]) -> str:
    return yaml.safe_dump(values, allow_unicode=True, sort_keys=False)


def _scalar(value: str) -> str:
    """Return `value` as YAML reads it back, quoted where it must be."""
    return yaml.safe_dump(value, allow_unicode=True, width=10_000).removesuffix("...\n").strip()
