"""Misses told apart: of another document, or of another passage of the right one."""

from dataclasses import replace

from samples.planned_runs import make_collection, make_run

from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.summary.attribution import attribute
from assay.eval.runs.summary.wrong_documents import WrongDocuments, find_wrong_documents
from assay.retrievers.base import Chunk, Hit, IndexReport, Quiet, Ranking, Retriever


class Halves(Retriever):
    """Cuts each document in two; finds of query i the halves that `found` says: 0, 1 or none."""

    nondeterministic = False

    def __init__(self, found):
        self._found = found

    def index(self, documents):
        self._documents = documents
        return IndexReport(2 * len(documents))

    def search(self, query, k):
        i = int(query.split()[1])
        half = self._found[i]
        place, half = (i, half) if half is not None else ((i + 1) % len(self._documents), 0)
        document = self._documents[place]
        start, end = ((0, 5), (5, len(document.text)))[half]
        chunk = Chunk(f"{document.id}-{half}", document.id, start, end, document.text[start:end])
        return Ranking((Hit(chunk, 1.0),)[:k])

    def metadata(self):
        return {"found": list(self._found)}


def test_misses_in_the_right_document_and_in_another(tmp_path):
    found = [1] * 4 + [0] * 3 + [None] * 5
    collection = make_collection(len(found))
    gold = {
        query: tuple(replace(item, start=5, id=f"{item.doc_id}[5:{item.end}]") for item in items)
        for query, items in collection.gold.items()
    }
    plan = RunSpec("halves", {"name": "halves"}, 100, None, LatencySettings(queries=0))
    collection = replace(collection, gold=gold)
    run = execute(plan, Halves(found), collection, tmp_path, Quiet()).run
    wrong = find_wrong_documents(run, attribute(run))
    assert wrong == WrongDocuments(k=10, missed=8, elsewhere=5, context="")
    assert wrong.describe() == (
        "8 queries found no correct passage in the first 10 hits. "
        "Of these, 5 (62\N{NO-BREAK SPACE}%) have no hit from the right document. "
        "Try a context that names the document: documents.context.source=auto."
    )
    assert "Try" not in replace(wrong, context="headings").describe()
    assert "Try" not in replace(wrong, elsewhere=4).describe()
    assert replace(wrong, missed=4, elsewhere=4).describe() == ""


def test_documents_judged_whole_tell_nothing(tmp_path):
    run = make_run(tmp_path, "whole", [1, 0, 0])
    assert find_wrong_documents(run, attribute(run)) is None
