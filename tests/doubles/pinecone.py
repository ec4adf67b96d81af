"""A server that keeps Pinecone's contract, control plane and index in one.

Written from the reference of API 2026-07 (docs.pinecone.io/reference/api/introduction, "Create an
index", "Configure an index", "Upsert documents", "Search documents", "Get index stats") and the
limits (docs.pinecone.io/reference/api/database-limits/operation-limits). Searches are exact.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from doubles.contract_server import ContractServer, RefusedError, Reply, only, rank_vectors, require

API = "2026-07"
BYTES = 2 * 1024 * 1024


@dataclass
class Index:
    made: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Of so many looks each finds it not ready.
    unready: int = 1


@dataclass
class PineconeDouble(ContractServer):
    """Pinecone with its indexes."""

    key_header = "api-key"
    indexes: dict[str, Index] = field(default_factory=dict)

    def rewrite_note(self, old, new):
        (index,) = self.indexes.values()
        tags = index.made["tags"]
        whole = "".join(tags.values())
        assert old in whole
        whole = whole.replace(old, new)
        tags |= {name: whole[i * 120 : (i + 1) * 120] for i, name in enumerate(tags)}

    def refuse(self, refused):
        codes = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS"}
        error = {"code": codes.get(refused.status, "INVALID_ARGUMENT"), "message": str(refused)}
        return Reply({"error": error, "status": refused.status}, refused.status)

    def answer(self, asked):
        require(asked.headers.get("x-pinecone-api-version") == API, "another version")
        match asked.method, asked.path.strip("/").split("/"):
            case "GET", ["indexes"]:
                return Reply({"indexes": [self._describe(each) for each in self.indexes]})
            case "POST", ["indexes"]:
                return Reply(self._create(asked.json), 201)
            case method, ["indexes", name]:
                return self._change(method, name, asked)
            case "POST", [name, "describe_index_stats"]:
                return Reply(self._count(self._find(name)))
            case "POST", [name, "namespaces", space, "documents", "upsert"]:
                require(len(asked.body) <= BYTES, "Request size exceeds 2 MB", 413)
                return Reply(self._upsert(self._find(name), asked.json), 201)
            case "POST", [name, "namespaces", space, "documents", "search"]:
                matches = self._search(self._find(name), asked.json)
                usage = {"read_units": 1}
                return Reply({"matches": matches, "namespace": space, "usage": usage})
        raise RefusedError(404, "no such path")

    def _find(self, name):
        require(name in self.indexes, f"Resource {name} not found", 404)
        return self.indexes[name]

    def _describe(self, name):
        index = self._find(name)
        ready = not index.unready
        return {
            **index.made,
            "host": f"{self.url}/{name}",
            "status": {"ready": ready, "state": "Ready" if ready else "Initializing"},
        }

    def _create(self, made):
        only(made, "name", "schema", "deployment", "tags", "deletion_protection", "read_capacity")
        name = made["name"]
        require(re.fullmatch("[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?", name), "name")
        require(name not in self.indexes, f"Resource {name} already exists", 409)
        _check_tags(made.get("tags", {}))
        place = made["deployment"]
        only(place, "deployment_type", "cloud", "region")
        require(place["deployment_type"] == "managed", "deployment_type")
        fields = made["schema"]["fields"]
        require(fields, "schema is empty")
        for each in fields.values():
            only(each, "type", "dimension", "metric", "description")
            require(each["type"] == "dense_vector", "no other field is searched here")
            require(1 <= each["dimension"] <= 20_000, "dimension")
            require(each["metric"] in ("cosine", "dotproduct", "euclidean"), "metric")
        self.indexes[name] = Index({"deletion_protection": "disabled", **made})
        return self._describe(name)

    def _change(self, method, name, asked):
        index = self._find(name)
        if method == "GET":
            index.unready = max(index.unready - 1, 0)
        elif method == "PATCH":
            only(asked.json, "tags", "deletion_protection", "read_capacity")
            index.made["tags"] = index.made.get("tags", {}) | asked.json["tags"]
            _check_tags(index.made["tags"])
        elif method == "DELETE":
            del self.indexes[name]
            return Reply(None, 202)
        return Reply(self._describe(name))

    def _count(self, index):
        count = self.lag(len(index.documents))
        spaces = {"texts": {"vectorCount": count}}
        return {"namespaces": spaces, "indexFullness": 0, "totalVectorCount": count}

    def _upsert(self, index, body):
        require(not index.unready, "the index is not ready")
        only(body, "documents")
        documents = body["documents"]
        require(1 <= len(documents) <= 1000, "1 to 1,000 documents")
        fields = index.made["schema"]["fields"]
        for document in documents:
            require(document["_id"] and document["_id"].isascii(), "_id")
            for name, each in fields.items():
                values = document.get(name, ())
                require(len(values) == each["dimension"] and any(values), f"{name}: dimension")
            require(None not in document.values(), "null")
            index.documents[document["_id"]] = document
        return {"upserted_count": len(documents)}

    def _search(self, index, body):
        only(body, "score_by", "top_k", "include_fields", "filter")
        require(1 <= body["top_k"] <= 10_000, "top_k")
        (clause,) = body["score_by"]
        fields, documents = index.made["schema"]["fields"], index.documents
        only(clause, "type", "field", "values")
        require(clause["type"] == "dense_vector" and clause["field"] in fields, "score_by")
        require(len(clause["values"]) == fields[clause["field"]]["dimension"], "dimension")
        vectors = {name: each[clause["field"]] for name, each in documents.items()}
        found = rank_vectors(vectors, clause["values"])
        return [{"_id": name, "_score": score} for name, score in found[: body["top_k"]]]


def _check_tags(tags):
    require(len(tags) <= 20, "20 tags at most")
    for name, value in tags.items():
        require(re.fullmatch("[A-Za-z0-9_-]{1,80}", name), "a tag's key")
        require(len(value) <= 120 and value.isascii() and value.isprintable(), "a tag's value")
