"""A server that keeps the contract of Azure Cosmos DB for NoSQL.

Written from the REST reference of 2020-07-15 (learn.microsoft.com/rest/api/cosmos-db: "Access
control", "Create a collection", "Query Documents", "HTTP Status Codes"), the query language
(learn.microsoft.com/cosmos-db/query: "VectorDistance", "FullTextScore", "RRF"), and the policies of
indexes (learn.microsoft.com/azure/cosmos-db/nosql/vector-search, .../gen-ai/full-text-search). No
reference has the plan of a ranked query: it is as the client reads it and the tests of the .NET
client record it. Searches are exact, and no analyzer stems.
"""

import base64
import hashlib
import hmac
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np
from doubles.contract_server import ContractServer, RefusedError, Reply, count_words, only, require

API = "2020-07-15"
BYTES = 2 * 1024 * 1024
PLAN = "x-ms-cosmos-is-query-plan-request"
BATCH = "x-ms-cosmos-is-batch-request"
QUERY = "x-ms-documentdb-isquery"
UPSERT = "x-ms-documentdb-is-upsert"
PARTITION = "x-ms-documentdb-partitionkey"
CONTINUATION = "x-ms-continuation"
PROGRESS = "x-ms-documentdb-collection-index-transformation-progress"
NUMBERS = r"\[[-+\d.eE, ]+\]"
TERMS = r'"[^"\\]+"(?:, "[^"\\]+")*'
NEAR = rf"VectorDistance\(c\.vector, ({NUMBERS}), (?:true|false)\)"
MATCH = rf"FullTextScore\(c\.text, ({TERMS})\)"
COUNT = "SELECT VALUE COUNT(1) FROM c"
DENSE = re.compile(rf"SELECT TOP (\d+) c\.id, {NEAR} AS score FROM c ORDER BY {NEAR}")
WORDS = re.compile(
    rf"SELECT TOP (\d+) c\.id FROM c WHERE (FullTextContainsAny\(c\.text, {TERMS}\)) "
    rf"ORDER BY RANK {MATCH}"
)
FUSED = re.compile(
    rf"SELECT TOP (\d+) c\.id FROM c ORDER BY RANK RRF\({NEAR}, {MATCH}, ({NUMBERS})\)"
)
STATISTICS = re.compile(r"COUNTIF\(FullTextContains\(c\.text, (\"[^\"]+\")\)\)")
COMPONENT = re.compile(
    r"SELECT TOP (\d+) c\._rid, .+ AS orderByItems, .+ AS payload\nFROM c\nWHERE (.+)\n"
    r"ORDER BY (.+) DESC"
)
FUNCTION = re.compile(
    rf"_VectorScore\(c\.vector, ({NUMBERS})\)"
    rf"|_FullTextScore\(c\.text, (\[{TERMS}\]), (\d+), (\d+), (\[[\d,]+\])\)"
)
HOLES = (
    "{{documentdb-formattablehybridsearchquery-totaldocumentcount}}, "
    "{{documentdb-formattablehybridsearchquery-totalwordcount-{0}}}, "
    "{{documentdb-formattablehybridsearchquery-hitcountsarray-{0}}}"
)
EVERYWHERE = [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}]

Documents = dict[str, dict[str, Any]]


@dataclass
class Container:
    made: dict[str, Any]
    documents: Documents = field(default_factory=dict)


@dataclass
class CosmosDouble(ContractServer):
    """An account with its containers; a page of an answer holds `page` documents at most.

    A container is indexed only after so many `unindexed` looks at it.
    """

    key = base64.b64encode(b"s3cret").decode()
    containers: dict[str, Container] = field(default_factory=dict)
    databases: set[str] = field(default_factory=set)
    page: int = 1000
    unindexed: int = 0

    @property
    def indexes(self):
        """The containers of texts."""
        return {name: each for name, each in self.containers.items() if name != "notes"}

    def find_note(self):
        (item,) = self.containers["notes"].documents.values()
        return item, "note"

    def refuse(self, refused):
        # Of a query that no single partition can serve the client asks for the plan.
        headers = {"x-ms-substatus": "1004"} if "directly served" in str(refused) else {}
        error = {"code": str(refused.status), "message": str(refused)}
        return Reply(error, refused.status, headers)

    def name(self, asked):
        kinds = {PLAN: "plan", BATCH: "batch", QUERY: "query", UPSERT: "upsert"}
        kind = next((it for header, it in kinds.items() if is_set(asked, header)), "")
        return f"{asked.path.rstrip('/')} {asked.method} {kind}"

    def check_key(self, asked):
        """Hold the signature against that of "Access control on Azure Cosmos DB resources"."""
        parts = asked.path.strip("/").split("/") if asked.path != "/" else []
        kind = parts[-1 - (len(parts) % 2 == 0)] if parts else ""
        link = "/".join(parts[: len(parts) - len(parts) % 2])
        date = asked.headers["x-ms-date"].lower()
        text = f"{asked.method.lower()}\n{kind}\n{link}\n{date}\n\n"
        digest = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        expected = f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}"
        fits = unquote(asked.headers.get("authorization", "")) == expected
        require(fits, "The input authorization token can't serve the request", 401)
        require(asked.headers.get("x-ms-version") == API, "x-ms-version")

    def answer(self, asked):
        require(len(asked.body) <= BYTES, "Request size is too large", 413)
        parts = asked.path.strip("/").split("/")
        match asked.method, parts:
            case "GET", [""]:
                place = [{"name": "here", "databaseAccountEndpoint": self.url}]
                consistency = {"defaultConsistencyLevel": "Session"}
                return Reply(
                    {"id": "x", "writableLocations": place, "readableLocations": place,
                     "userConsistencyPolicy": consistency}
                )  # fmt: skip
            case "POST", ["dbs"]:
                only(asked.json, "id")
                require(asked.json["id"] not in self.databases, "it exists", 409)
                self.databases.add(asked.json["id"])
                return Reply(asked.json, 201)
            case "POST", ["dbs", database, "colls"]:
                require(database in self.databases, "Owner resource does not exist", 404)
                return Reply(self._make(asked.json), 201)
            case method, ["dbs", database, "colls", name, *rest]:
                there = database in self.databases and name in self.containers
                require(there, f"Owner resource does not exist: {name}", 404)
                return self._answer(asked, method, name, rest)
        raise RefusedError(405, "no such method")

    def _answer(self, asked, method, name, rest):
        container = self.containers[name]
        match method, rest:
            case "GET", []:
                if not is_set(asked, "x-ms-documentdb-populatequotainfo"):
                    return Reply(container.made)
                done = 40 if self.unindexed else 100
                self.unindexed -= bool(self.unindexed)
                return Reply(container.made, headers={PROGRESS: str(done)})
            case "DELETE", []:
                del self.containers[name]
                return Reply(None, 204)
            case "GET", ["pkranges"]:
                whole = {"id": "0", "minInclusive": "", "maxExclusive": "FF"}
                if asked.headers.get("if-none-match") == "1":
                    return Reply(None, 304, {"etag": "1"})
                return Reply({"PartitionKeyRanges": [whole]}, headers={"etag": "1"})
            case "GET", ["docs"]:
                return Reply({"Documents": list(container.documents.values())})
            case "DELETE", ["docs", key]:
                require(key in container.documents, "Entity does not exist", 404)
                del container.documents[key]
                return Reply(None, 204)
            case "POST", ["docs"] if is_set(asked, PLAN):
                return Reply(plan(asked.json["query"]))
            case "POST", ["docs"] if is_set(asked, BATCH):
                return self._store(container, asked)
            case "POST", ["docs"] if is_set(asked, QUERY):
                require(asked.headers["content-type"] == "application/query+json", "content-type")
                return self._query(container, asked)
            case "POST", ["docs"]:
                require(is_set(asked, UPSERT), "it exists", 409)
                container.documents[asked.json["id"]] = asked.json
                return Reply(asked.json, 201)
        raise RefusedError(405, "no such method")

    def _make(self, made):
        require(re.fullmatch(r"[^/\\#?]{1,255}", made["id"]), "id")
        require(made["id"] not in self.containers, "it exists", 409)
        only(made, "id", "partitionKey", "indexingPolicy", "vectorEmbeddingPolicy",
             "fullTextPolicy")  # fmt: skip
        only(made["partitionKey"], "paths", "kind", "version")
        paths = {}
        for each in made.get("vectorEmbeddingPolicy", {}).get("vectorEmbeddings", ()):
            only(each, "path", "dataType", "distanceFunction", "dimensions")
            require(each["distanceFunction"] in ("cosine", "dotproduct", "euclidean"), "distance")
            paths[each["path"]] = each["dimensions"]
        policy = made.get("indexingPolicy", {})
        only(policy, "indexingMode", "automatic", "includedPaths", "excludedPaths",
             "fullTextIndexes", "vectorIndexes")  # fmt: skip
        for each in policy.get("vectorIndexes", ()):
            most = {"flat": 505, "quantizedFlat": 4096, "diskANN": 4096}.get(each["type"], 0)
            require(0 < paths[each["path"]] <= most, "dimensions of the vector index")
        texts = made.get("fullTextPolicy", {"fullTextPaths": []})["fullTextPaths"]
        indexed = [each["path"] for each in policy.get("fullTextIndexes", ())]
        require(indexed == [each["path"] for each in texts], "a full-text path without a policy")
        self.containers[made["id"]] = Container({**made, "_rid": made["id"]})
        return self.containers[made["id"]].made

    def _store(self, container, asked):
        """Do all of a batch, or nothing of it."""
        require(1 <= len(asked.json) <= 100, "1 to 100 operations")
        (partition,) = json.loads(asked.headers[PARTITION])
        dimensions = container.made["vectorEmbeddingPolicy"]["vectorEmbeddings"][0]["dimensions"]
        for each in asked.json:
            only(each, "operationType", "resourceBody")
            require(each["operationType"] == "Upsert", "operationType")
            item = each["resourceBody"]
            require(item["part"] == partition, "the partition key does not match")
            require(re.fullmatch(r"[^/\\#?]{1,255}", item["id"]), "id")
            require(len(item["vector"]) == dimensions, "dimensions")
        container.documents |= {it["resourceBody"]["id"]: it["resourceBody"] for it in asked.json}
        return Reply([{"statusCode": 201} for _ in asked.json])

    def _query(self, container, asked):
        only(asked.json, "query", "parameters")
        query, documents = asked.json["query"], container.documents
        if query == COUNT:
            return Reply({"Documents": [self.lag(len(documents))]})
        if query.startswith("SELECT COUNT(1) AS documentCount"):
            return Reply({"Documents": [count(query, documents)]})
        if found := COMPONENT.fullmatch(query):
            return self._page(asked, rank(found, query, documents))
        if WORDS.fullmatch(query) or FUSED.fullmatch(query):
            raise RefusedError(400, "cross partition query can not be directly served")
        found = DENSE.fullmatch(query)
        if found is None or found[2] != found[3]:
            raise RefusedError(400, f"Syntax error: {query[:200]}")
        scores = score_near(json.loads(found[2]), documents)
        rows = [{"id": key, "score": score} for key, score in scores.items()]
        return self._page(asked, sorted(rows, key=lambda it: -it["score"])[: int(found[1])])

    def _page(self, asked, rows):
        most = min(int(asked.headers.get("x-ms-max-item-count", 1000)), self.page)
        require(most > 0, "x-ms-max-item-count")
        start = int(asked.headers.get(CONTINUATION) or 0)
        more = {CONTINUATION: str(start + most)} if start + most < len(rows) else {}
        return Reply({"Documents": rows[start : start + most]}, headers=more)


def is_set(asked, header):
    return asked.headers.get(header, "").lower() == "true"


def plan(query):
    """Return how the client is to run a ranked query: component by component."""
    if found := WORDS.fullmatch(query):
        top, where, terms, weights = int(found[1]), found[2], found[3], None
        functions = [f"_FullTextScore(c.text, [{terms}], {HOLES.format(0)})"]
    elif found := FUSED.fullmatch(query):
        top, where, terms, weights = int(found[1]), "", found[3], json.loads(found[4])
        functions = [
            f"_VectorScore(c.vector, {found[2]})",
            f"_FullTextScore(c.text, [{terms}], {HOLES.format(1)})",
        ]
    else:
        raise RefusedError(400, f"Syntax error: {query[:200]}")
    require(top, "TOP")
    filter_ = "({documentdb-formattableorderbyquery-filter})"
    counts = ", ".join(f"COUNTIF(FullTextContains(c.text, {term}))" for term in terms.split(", "))
    scores = ", ".join(functions)
    return {
        "partitionedQueryExecutionInfoVersion": 2,
        "hybridSearchQueryInfo": {
            "globalStatisticsQuery": (
                'SELECT COUNT(1) AS documentCount, [{"totalWordCount": '
                f'SUM(_FullTextWordCount(c.text)), "hitCounts": [{counts}]}}] '
                "AS fullTextStatistics\nFROM c"
            ),
            "componentQueryInfos": [
                {
                    "distinctType": "None",
                    "top": top,
                    "orderBy": ["Descending"],
                    "orderByExpressions": [function],
                    "rewrittenQuery": (
                        f'SELECT TOP {top} c._rid, [{{"item": {function}}}] AS orderByItems, '
                        f'{{"payload": {{"id": c.id}}, "componentScores": [{scores}]}} AS payload\n'
                        f"FROM c\nWHERE {f'({where}) AND ' if where else ''}{filter_}\n"
                        f"ORDER BY {function} DESC"
                    ),
                    "hasSelectValue": False,
                    "hasNonStreamingOrderBy": True,
                }
                for function in functions
            ],
            "componentWeights": weights,
            "skip": None,
            "take": top,
            "requiresGlobalStatistics": True,
        },
        "queryRanges": EVERYWHERE,
    }


def count(query, documents):
    """Return the statistics of the words of a query."""
    words = [count_words(it["text"]) for it in documents.values()]
    hits = [sum(bool(it[json.loads(term)]) for it in words) for term in STATISTICS.findall(query)]
    total = sum(it.total() for it in words)
    statistics = [{"totalWordCount": total, "hitCounts": hits}]
    return {"documentCount": len(words), "fullTextStatistics": statistics}


def rank(found, query, documents):
    """Return the rows of a component query, each with its scores of all components."""
    top, where, by = int(found[1]), found[2], found[3]
    require("documentdb" not in query, "a place that the client has to fill")
    listed = query.partition('"componentScores": [')[2].partition("]} AS payload")[0]
    scores = {it[0]: score(it, documents) for it in FUNCTION.finditer(listed)}
    require(by in scores, "ORDER BY")
    held = re.search(rf"FullTextContainsAny\(c\.text, ({TERMS})\)", where)
    words = set(json.loads(f"[{held[1]}]")) if held else set()
    rows = [
        {
            "_rid": f"rid-{key}",
            "orderByItems": [{"item": scores[by][key]}],
            "payload": {
                "payload": {"id": key},
                "componentScores": [each[key] for each in scores.values()],
            },
        }
        for key, it in documents.items()
        if not words or words & count_words(it["text"]).keys()
    ]
    return sorted(rows, key=lambda row: -row["orderByItems"][0]["item"])[:top]


def score(function, documents):
    """Return the score of each document by a function: the cosine, or BM25."""
    vector, terms, total, words, hits = function.groups()
    if vector:
        return score_near(json.loads(vector), documents)
    mean = int(words) / max(int(total), 1)
    scores = dict.fromkeys(documents, 0.0)
    for term, held in zip(json.loads(terms), json.loads(hits), strict=True):
        idf = math.log(1 + (int(total) - held + 0.5) / (held + 0.5))
        for key, it in documents.items():
            counts = count_words(it["text"])
            often, length = counts[term], counts.total()
            if often:
                scores[key] += idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean))
    return scores


def score_near(query, documents):
    if not documents:
        return {}
    matrix = np.array([it["vector"] for it in documents.values()])
    require(matrix.shape[1] == len(query), "dimensions")
    cosines = matrix @ np.array(query) / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)
    return dict(zip(documents, map(float, cosines), strict=True))
