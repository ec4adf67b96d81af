"""A server that keeps the contract of Elasticsearch.

Written from the reference of 8.19 (elastic.co/docs/api/doc/elasticsearch: "Create an index", "Bulk
index or delete documents", "Run a search"; elastic.co/docs/reference/elasticsearch: "dense_vector",
"Retrievers") and the fusion as x-pack/plugin/rank-rrf has it. Searches are exact, no analyzer
stems, and BM25 has the lengths of texts unrounded, so that its scores are not Lucene's.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from doubles.contract_server import (
    ContractServer,
    RefusedError,
    Reply,
    add_up,
    only,
    rank,
    rank_vectors,
    rank_words,
    require,
    scale,
)

NAME = "[a-z0-9][a-z0-9_.-]{0,254}"
ACCEPTED = re.compile(r"application/(json|vnd\.elasticsearch\+(x-nd)?json; ?compatible-with=(\d+))")
BYTES = 100 * 1024 * 1024
SEARCH = ("query", "retriever", "size", "_source")
KNN = ("field", "query_vector", "k", "num_candidates", "filter")


@dataclass
class Index:
    made: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    # What is found only after a refresh, which this index makes none of by itself.
    pending: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def properties(self):
        return self.made["mappings"]["properties"]


@dataclass
class ElasticsearchDouble(ContractServer):
    """A node of one version and licence, of which `unstored` documents are turned down at first."""

    indexes: dict[str, Index] = field(default_factory=dict)
    version: str = "9.1.0"
    licence: str = "trial"
    # Major versions of clients whose requests are understood.
    compatible: tuple[int, ...] = (8, 9)
    unstored: int = 0
    shards_answering: int = 1

    def find_note(self):
        (index,) = self.indexes.values()
        return index.made["mappings"]["_meta"], "assay"

    def refuse(self, refused):
        kinds = {403: "security_exception", 404: "index_not_found_exception"}
        kind = kinds.get(refused.status, "parsing_exception")
        if "media-type" in str(refused):
            kind = "media_type_header_exception"
        if "already exists" in str(refused):
            kind = "resource_already_exists_exception"
        cause = {"type": kind, "reason": str(refused)}
        return self._reply(
            {"error": {"root_cause": [cause], **cause}, "status": refused.status}, refused.status
        )

    def check_key(self, asked):
        known = asked.headers.get("authorization") == f"ApiKey {self.key}"
        require(known, "unable to authenticate with provided credentials", 401)

    def answer(self, asked):
        for header in ("accept", "content-type"):
            given = asked.headers.get(header)
            accepted = ACCEPTED.fullmatch(given or "application/json")
            require(accepted, f"Invalid media-type value on header [{header}]", 406)
            if accepted and accepted[3]:
                fits = int(accepted[3]) in self.compatible
                require(fits, "Invalid media-type value on headers [Accept, Content-Type]", 400)
        return self._reply(self._answer(asked))

    def _reply(self, body, status=200):
        return Reply(body, status, {"X-Elastic-Product": "Elasticsearch"})

    def _answer(self, asked):
        if (asked.method, asked.path) == ("GET", "/_nodes/_local/os"):
            return {"nodes": {"x": {"version": self.version}}}
        if (asked.method, asked.path) == ("GET", "/assay_*/_mapping"):
            return {
                name: {"mappings": each.made["mappings"]} for name, each in self.indexes.items()
            }
        name, _, action = asked.path[1:].partition("/")
        if (asked.method, action) == ("PUT", ""):
            return self._create(name, asked.json)
        require(name in self.indexes, f"no such index [{name}]", 404)
        index = self.indexes[name]
        shards = {"total": 1, "successful": 1, "failed": 0}
        match asked.method, action:
            case "DELETE", "":
                del self.indexes[name]
                return {"acknowledged": True}
            case "PUT", "_mapping":
                only(asked.json, "_meta")
                index.made["mappings"]["_meta"] = asked.json["_meta"]
                return {"acknowledged": True}
            case "PUT", "_bulk":
                return self._store(index, asked.body)
            case "POST", "_refresh":
                index.documents |= index.pending
                index.pending = {}
                return {"_shards": shards}
            case "POST", "_forcemerge":
                only(asked.query, "max_num_segments")
                return {"_shards": shards}
            case "POST", "_count":
                return {"count": self.lag(len(index.documents)), "_shards": shards}
            case "POST", "_search":
                only(asked.query, "allow_partial_search_results")
                answering = self.shards_answering
                shards |= {"successful": answering, "failed": 1 - answering}
                hits = [
                    {"_index": name, "_id": key, "_score": score}
                    for key, score in self._search(index, asked.json)
                ]
                return {"timed_out": False, "_shards": shards, "hits": {"hits": hits}}
        raise RefusedError(405, "Incorrect HTTP method")

    def _create(self, name, made):
        require(re.fullmatch(NAME, name), f"invalid index name [{name}]")
        require(name not in self.indexes, f"index [{name}] already exists")
        only(made, "settings", "mappings")
        settings = made["settings"]["index"]
        only(
            settings, "number_of_shards", "number_of_replicas", "refresh_interval",
            "max_result_window", "similarity", "sort.field", "sort.order",
        )  # fmt: skip
        only(settings["similarity"]["default"], "type", "k1", "b")
        only(made["mappings"], "dynamic", "properties", "_meta")
        for told in made["mappings"]["properties"].values():
            match told["type"]:
                case "integer":
                    only(told, "type")
                case "text":
                    only(told, "type", "analyzer")
                case "dense_vector":
                    only(told, "type", "dims", "index", "similarity", "index_options")
                    require(1 <= told["dims"] <= 4096, "dims")
                    options = told["index_options"]
                    graph = ("m", "ef_construction") if options["type"] == "hnsw" else ()
                    require(options["type"] in ("hnsw", "flat"), "index_options")
                    only(options, "type", *graph)
                case other:
                    raise RefusedError(400, f"No handler for type [{other}]")
        self.indexes[name] = Index(made)
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _store(self, index, body):
        require(len(body) <= BYTES, "the request is too large", 413)
        require(body.endswith(b"\n"), "The bulk request must be terminated by a newline [\\n]")
        lines = [json.loads(line) for line in body.splitlines()]
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            only(action, "index")
            only(action["index"], "_id")
            result = {"_id": action["index"]["_id"], "status": 201}
            if self.unstored:
                self.unstored -= 1
                error = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
                result |= {"status": 429, "error": error}
            elif reason := _find_fault(index, document):
                error = {"type": "document_parsing_exception", "reason": reason}
                result |= {"status": 400, "error": error}
            else:
                index.pending[result["_id"]] = document
            items.append({"index": result})
        return {"errors": any("error" in it["index"] for it in items), "items": items}

    def _search(self, index, body):
        only(body, *SEARCH)
        require(body.get("_source") is False, "this gives no source")
        require(("query" in body) != ("retriever" in body), "cannot specify both")
        size = body.get("size", 10)
        window = index.made["settings"]["index"]["max_result_window"]
        require(0 <= size <= window, "Result window is too large")
        if "query" in body:
            return self._match(index, body["query"])[:size]
        return self._retrieve(index, body["retriever"], size)[:size]

    def _retrieve(self, index, retriever, size):
        require(len(retriever) == 1, "one retriever")
        ((kind, told),) = retriever.items()
        if kind == "standard":
            only(told, "query")
            return self._match(index, told["query"])
        if kind == "knn":
            return self._near(index, told)
        require(kind in ("rrf", "linear"), f"unknown retriever [{kind}]")
        named = {"rrf": "Reciprocal Rank Fusion (RRF)", "linear": "linear retriever"}[kind]
        licensed = self.licence in ("trial", "enterprise")
        require(licensed, f"current license is non-compliant for [{named}]", 403)
        window = told.get("rank_window_size", 10)
        require(window >= max(size, 1), "rank_window_size must be greater than or equal to size")
        if kind == "rrf":
            only(told, "retrievers", "rank_window_size", "rank_constant")
            require(len(told["retrievers"]) >= 2, "rrf needs two retrievers")
            require(told.get("rank_constant", 60) >= 1, "rank_constant")
            lists = [self._retrieve(index, it, window)[:window] for it in told["retrievers"]]
            return add_up([rank(it, told.get("rank_constant", 60)) for it in lists])[:window]
        only(told, "retrievers", "rank_window_size")
        lists = []
        for part in told["retrievers"]:
            only(part, "retriever", "weight", "normalizer")
            require(part["weight"] >= 0, "[weight] must be non-negative")
            require(part["normalizer"] == "minmax", "this normalizes by minmax")
            found = self._retrieve(index, part["retriever"], window)[:window]
            # Scores that are all equal stay as they are.
            lists.append(scale(found) if len({score for _, score in found}) > 1 else found)
        return add_up(lists, [it["weight"] for it in told["retrievers"]])[:window]

    def _near(self, index, told):
        only(told, *KNN)
        vector = index.properties[told["field"]]
        require(vector["type"] == "dense_vector", "the field is no dense_vector")
        require(len(told["query_vector"]) == vector["dims"], "the query vector's dimensions differ")
        require(1 <= told["k"] <= told["num_candidates"], "[num_candidates] is less than [k]")
        require(told["num_candidates"] <= 10_000, "[num_candidates] cannot exceed [10000]")
        allowed = _list_ids(told["filter"]) if "filter" in told else index.documents.keys()
        vectors = {key: it[told["field"]] for key, it in index.documents.items() if key in allowed}
        found = rank_vectors(vectors, told["query_vector"])[: told["k"]]
        return [(key, float(np.float32((1 + cosine) / 2))) for key, cosine in found]

    def _match(self, index, query):
        if "bool" in query:
            only(query["bool"], "must", "filter")
            (must,), (listed,) = query["bool"]["must"], query["bool"]["filter"]
            allowed = _list_ids(listed)
            return [pair for pair in self._match(index, must) if pair[0] in allowed]
        only(query, "match")
        ((name, told),) = query["match"].items()
        require(index.properties[name]["type"] == "text", "the field is no text")
        only(told, "query", "operator")
        require(told.get("operator", "or") == "or", "this searches for any word")
        bm25 = index.made["settings"]["index"]["similarity"]["default"]
        texts = {key: it[name] for key, it in index.documents.items()}
        return rank_words(texts, told["query"], bm25["k1"], bm25["b"])


def _list_ids(query):
    only(query, "ids")
    only(query["ids"], "values")
    return set(query["ids"]["values"])


def _find_fault(index, document):
    if unknown := document.keys() - index.properties.keys():
        return f"mapping set to strict, dynamic introduction of {sorted(unknown)} is not allowed"
    for name, told in index.properties.items():
        if told["type"] == "dense_vector":
            vector = document[name]
            if len(vector) != told["dims"]:
                return f"the vector has {len(vector)} dimensions, not {told['dims']}"
            if not any(vector):
                return "the [cosine] similarity does not support vectors with zero magnitude"
    return ""
