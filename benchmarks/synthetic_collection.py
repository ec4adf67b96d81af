"""A BEIR collection of any size: words by Zipf's law, queries whose answers are planted."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from assay.retrievers.base import AssayError

SEED = 2_026
WORDS = 1 << 21  # distinct words; of 10^7 passages nearly all occur
SHIFT = 2.7  # Mandelbrot's, by which the commonest words are less common than Zipf's law has it
MEAN, LEAST = 55.0, 8  # words of a passage: MS MARCO's mean
BATCH = 10_000  # passages drawn at once
QUERIES = 200
ASKED = 4  # words of a query
PLANTED = (1_000, 100_000)  # ranks of the words of queries: neither common nor rare
DECOYS = 5  # passages for each query that hold all of its words but one
SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def write_collection(folder: Path, passages: int) -> Path:
    """Return the folder of the collection of so many passages below `folder`, written if need be.

    A query is four words, drawn apart from all else. One passage has all of them put into it, and
    is judged relevant; five have three. Raises AssayError where there are too few passages for it.
    """
    if passages < (least := QUERIES * (1 + DECOYS)):
        raise AssayError(f"{passages} passages cannot hold what is planted; allowed: {least:,} up")
    name = f"zipf{passages}"
    root = folder / name
    card = root / "dataset.yaml"
    if card.exists():  # which is written last
        return root
    (root / "qrels").mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng([SEED, passages])
    asked = draw.integers(*PLANTED, size=(QUERIES, ASKED))
    targets = draw.choice(passages, (QUERIES, 1 + DECOYS), replace=False)
    planted = {
        int(passage): words if i == 0 else words[1:]
        for words, row in zip(asked, targets, strict=True)
        for i, passage in enumerate(row)
    }
    words = list(map(_spell, range(WORDS)))
    with (root / "corpus.jsonl").open("w") as file:
        for number, ranks in enumerate(_draw_passages(draw, passages)):
            if number in planted:
                ranks[: len(planted[number])] = planted[number]
                draw.shuffle(ranks)
            text = " ".join(map(words.__getitem__, ranks.tolist()))
            file.write(f'{{"_id": "p{number}", "title": "", "text": "{text}"}}\n')
    with (root / "queries.jsonl").open("w") as file:
        for i, ranks in enumerate(asked.tolist()):
            text = " ".join(map(_spell, ranks))
            file.write(json.dumps({"_id": f"q{i}", "text": text}) + "\n")
    with (root / "qrels" / "test.tsv").open("w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"q{i}\tp{row[0]}\t1\n" for i, row in enumerate(targets.tolist()))
    card.write_text(yaml.safe_dump({"name": name, "title": name, "format": "beir"}))
    return root


def _draw_passages(draw: np.random.Generator, passages: int) -> Iterator[NDArray[np.int64]]:
    """Yield the ranks of the words of each passage."""
    cumulated = np.cumsum(1 / (np.arange(WORDS) + 1 + SHIFT))
    cumulated /= cumulated[-1]
    for begin in range(0, passages, BATCH):
        lengths = LEAST + draw.poisson(MEAN - LEAST, min(BATCH, passages - begin))
        ranks = np.searchsorted(cumulated, draw.random(lengths.sum()))
        for start, end in pairwise([0, *np.cumsum(lengths).tolist()]):
            yield ranks[start:end]


def _spell(rank: int) -> str:
    """Return the word of a rank: the commoner, the shorter."""
    parts = []
    rank += len(SYLLABLES)
    while rank:
        rank, i = divmod(rank, len(SYLLABLES))
        parts.append(SYLLABLES[i])
    return "".join(parts)
