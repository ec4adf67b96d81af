"""A server that keeps the contract of Azure AI Search.

Written from the REST reference of 2026-04-01 (learn.microsoft.com/rest/api/searchservice: "Indexes
- Create", "Documents - Index", "Documents - Search Post"), its rules for names and limits
(learn.microsoft.com/azure/search/search-limits-quotas-capacity) and the fusion as
learn.microsoft.com/azure/search/hybrid-search-ranking states it. Searches are exact, and no
analyzer stems.
"""

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
)

API = "2026-04-01"
BYTES = 16 * 1024 * 1024
OPERATORS = set('+|"()*~^:[]{}/\\!?&-')
TEXT_DEPTH = 1000
NAME = "[a-z0-9](-?[a-z0-9])*"
FIELD = (
    "name", "type", "key", "searchable", "filterable", "sortable", "facetable", "retrievable",
    "stored", "analyzer", "dimensions", "vectorSearchProfile",
)  # fmt: skip
SEARCH = (
    "search", "searchFields", "searchMode", "queryType", "select", "top", "skip",
    "scoringStatistics", "vectorQueries", "filter", "count", "sessionId",
)  # fmt: skip


@dataclass
class Index:
    made: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)

    def named(self, kind):
        """Return the field of a kind: `key`, `analyzer` or `dimensions`."""
        (found,) = [each for each in self.made["fields"] if each.get(kind)]
        return dict(found)


@dataclass
class AzureSearchDouble(ContractServer):
    """A search service with its indexes; a page of an answer holds `page` documents at most."""

    key_header = "api-key"
    indexes: dict[str, Index] = field(default_factory=dict)
    page: int = 1000
    # Of so many documents each is not stored when it first comes.
    unstored: int = 0

    def refuse(self, refused):
        return Reply({"error": {"code": "", "message": str(refused)}}, refused.status)

    def check_key(self, asked):
        require(asked.headers.get(self.key_header) == self.key, "Access denied", 403)

    def answer(self, asked):
        require(asked.query.get("api-version") == API, "another version")
        if asked.path == "/indexes":
            if asked.method == "GET":
                return Reply({"value": [each.made for each in self.indexes.values()]})
            require(asked.json["name"] not in self.indexes, "it already exists", 409)
            return Reply(self._define(asked.json), 201)
        match = re.fullmatch(r"/indexes\('([^']+)'\)(/docs/.+)?", asked.path)
        if match is None:
            raise RefusedError(404, "no such path")
        name, rest = match.groups()
        require(name in self.indexes, f"No index with the name '{name}' was found", 404)
        match asked.method, rest:
            case "GET", None:
                return Reply(self.indexes[name].made)
            case "PUT", None:
                kept = {"fields", "vectorSearch", "similarity"}
                old, new = self.indexes[name].made, asked.json
                require(all(old[key] == new[key] for key in kept), "fields cannot be changed")
                old["description"] = new.get("description")
                return Reply(old)
            case "DELETE", None:
                del self.indexes[name]
                return Reply(None, 204)
            case "GET", "/docs/$count":
                return Reply(f"\ufeff{self.lag(len(self.indexes[name].documents))}")
            case "POST", "/docs/search.index":
                require(len(asked.body) <= BYTES, "the request is too large", 413)
                return self._store(self.indexes[name], asked.json)
            case "POST", "/docs/search.post.search":
                return Reply(self._search(name, asked.json))
        raise RefusedError(405, "no such method")

    def _define(self, made):
        only(made, "name", "description", "fields", "similarity", "vectorSearch")
        require(re.fullmatch(NAME, made["name"]) and 2 <= len(made["name"]) <= 128, "name")
        require(len(made.get("description") or "") <= 4000, "description")
        for each in made["fields"]:
            only(each, *FIELD)
            if each["type"] == "Collection(Edm.Single)":
                require(2 <= each["dimensions"] <= 4096, "dimensions")
                require(each["searchable"], "a vector field is searchable")
                wrong = [each.get(key) for key in ("filterable", "sortable", "facetable", "key")]
                require(not any(wrong), "what no vector field can be")
            elif each.get("key"):
                require(each["type"] == "Edm.String", "the key is no string")
        require(sum(bool(each.get("key")) for each in made["fields"]) == 1, "one key")
        similarity = made["similarity"]
        only(similarity, "@odata.type", "k1", "b")
        require(similarity["@odata.type"] == "#Microsoft.Azure.Search.BM25Similarity", "similarity")
        for each in made["vectorSearch"]["algorithms"]:
            only(each, "name", "kind", f"{each['kind']}Parameters")
            if each["kind"] == "hnsw":
                given = each["hnswParameters"]
                only(given, "m", "efConstruction", "efSearch", "metric")
                require(4 <= given["m"] <= 10, "m")
                require(100 <= given["efConstruction"] <= 1000, "efConstruction")
                require(100 <= given["efSearch"] <= 1000, "efSearch")
        self.indexes[made["name"]] = Index(made)
        return made

    def _store(self, index, body):
        only(body, "value")
        require(1 <= len(body["value"]) <= 1000, "1 to 1,000 documents")
        key, near = index.named("key")["name"], index.named("dimensions")
        results = []
        for document in body["value"]:
            only(document, "@search.action", *(each["name"] for each in index.made["fields"]))
            require(document["@search.action"] in ("upload", "mergeOrUpload"), "@search.action")
            require(re.fullmatch(r"[\w=-]+", document[key]), "key")
            require(len(document[near["name"]]) == near["dimensions"], "dimensions")
            stored = not self.unstored
            self.unstored -= not stored
            if stored:
                index.documents[document[key]] = document
            results.append(
                {
                    "key": document[key],
                    "status": stored,
                    "errorMessage": None if stored else "The service is too busy",
                    "statusCode": 201 if stored else 503,
                }
            )
        return Reply({"value": results}, 200 if all(it["status"] for it in results) else 207)

    def _search(self, name, body):
        only(body, *SEARCH)
        index, top, skip = self.indexes[name], body.get("top", 50), body.get("skip", 0)
        require(top >= 0 and 0 <= skip <= 100_000, "top, skip")
        key = index.named("key")["name"]
        require(body.get("select", key) == key, "select names what cannot be retrieved")
        lists = [self._near(index, query) for query in body.get("vectorQueries", ())]
        weights = [query.get("weight", 1.0) for query in body.get("vectorQueries", ())]
        if (words := body.get("search")) is not None:
            lists.append(self._match(index, words, body)[:TEXT_DEPTH])
            weights.append(1.0)
        require(lists, "nothing is asked for")
        found = add_up([rank(it) for it in lists], weights) if len(lists) > 1 else lists[0]
        wanted = found[skip : skip + top]
        page = wanted[: self.page]
        answer = {"value": [{"@search.score": score, key: each} for each, score in page]}
        if len(wanted) > len(page):
            following = {**body, "skip": skip + len(page), "top": top - len(page)}
            answer["@search.nextPageParameters"] = following
            answer["@odata.nextLink"] = (
                f"{self.url}/indexes('{name}')/docs/search.post.search?api-version={API}"
            )
        return answer

    def _near(self, index, query):
        only(query, "kind", "vector", "k", "fields", "weight", "exhaustive")
        near = index.named("dimensions")
        require(query["kind"] == "vector" and query["fields"] == near["name"], "fields")
        require(len(query["vector"]) == near["dimensions"], "dimensions")
        require(query["k"] >= 1 and query.get("weight", 1.0) > 0, "k, weight")
        vectors = {key: each[near["name"]] for key, each in index.documents.items()}
        found = rank_vectors(vectors, query["vector"])[: query["k"]]
        return [(key, float(np.float32(1 / (2 - cosine)))) for key, cosine in found]

    def _match(self, index, words, body):
        require(body.get("queryType", "simple") == "simple", "queryType")
        require(body.get("searchMode", "any") == "any", "this searches for any word")
        require(body.get("scoringStatistics", "local") in ("local", "global"), "statistics")
        require(not OPERATORS & set(words), "an operator")
        text, bm25 = index.named("analyzer")["name"], index.made["similarity"]
        require(body["searchFields"] == text, "searchFields")
        require(len(words.split()) <= 1024, "too many clauses")
        texts = {key: each[text] for key, each in index.documents.items()}
        return rank_words(texts, words, bm25["k1"], bm25["b"])
