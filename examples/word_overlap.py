"""A retriever of your own: a class that keeps the contract, named in examples/word_overlap.yaml."""

from collections.abc import Sequence

from assay.retrievers.base import Chunk, Document, Hit, IndexReport, Ranking, Retriever


class WordOverlap(Retriever):
    """Ranks whole documents by the share of the query's words they contain."""

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Keep every document as one chunk."""
        self.chunks = [Chunk(d.id, d.id, 0, len(d.text), d.text) for d in documents if d.text]
        return IndexReport(chunks=len(self.chunks))

    def search(self, query: str, k: int) -> Ranking:
        """Return the documents that share most words with the query."""
        words = set(query.lower().split())
        hits = [
            Hit(chunk, len(words & set(chunk.text.lower().split())) / len(words))
            for chunk in self.chunks
            if words
        ]
        found = [hit for hit in hits if hit.score > 0]
        found.sort(key=lambda hit: (hit.score, hit.chunk.id), reverse=True)
        return Ranking(tuple(found[:k]))
