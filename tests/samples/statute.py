"""A small statute and a handbook, cut about one paragraph a chunk."""

import re

from assay.retrievers.base import Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers import StructureChunker

LAW = Document(
    "law.md",
    """# Title 7. Boats.

## Chapter 2. Harbours.

### § 7–201. Definitions.

For the purposes of this chapter, the term:

(1) “Berth” means a place at a quay where one boat may lie, but not a mooring.

(2) “Harbour master” means whoever gives a berth to each boat.

### § 7–202. Dues.

(a) Dues are paid by the day before noon at the quay, except:

  (1) On holidays, when nobody pays and the office is closed all day;

  (2) In storms, if any of these is true of the day in question:

    (A) The storm was declared by the office before the boat came in.

    (B) The storm was foreseen by the pilot and written in the log.

(a-1) Late dues are doubled on the third day and on each day after.

(b) The harbour master may waive dues of a boat in distress.

### § 7–202.01. Moorings.

A mooring costs half of what is paid for a place at the quay.

## Chapter 3. Crews.

### § 7–301. Short title.

This chapter may be cited as the Crews Act; it has no other part.
""",
)
HANDBOOK = Document(
    "handbook.md",
    """# Handbook

## 2.1 Installing

Put the box on the wall and wait until the light is green.

## 3.5 Fares

A fare is paid on board. Crews pay “no fare at all” on their days off.

## 4.2 Refunds

Refunds take ten days. The master's own refunds take twenty days or more.

## 19. Lights

Lights are lit at dusk and put out when the last crew has left.

## 2024

In this year nothing happened that anybody would care to write down.

## Part IV

What stands here is the fourth part, about nothing but ropes and knots.

## Schedule A

The first schedule lists all boats by their names and home ports.
""",
)
GLOSSARY = Document(
    "glossary.md",
    "# Glossary\n\n**Crew**: all who work on board.\n\n**Fares**: what passengers pay.\n",
)


def cut(document, size=24):
    """Return chunks of at most `size` words or marks, in order."""
    chunker = StructureChunker(max_tokens=size, overlap_tokens=0)
    return chunker.chunk(
        document, lambda text: [m.span() for m in re.finditer(r"\w+|[^\w\s]", text)]
    )


def make_corpus(*documents):
    chunks = [chunk for document in documents for chunk in cut(document)]
    return Corpus(sorted(chunks, key=lambda chunk: chunk.id, reverse=True), documents)
