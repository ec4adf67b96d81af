"""A server that keeps MongoDB's contract over its wire protocol.

Written from the specification of OP_MSG (mongodb.com/docs/manual/reference/mongodb-wire-protocol),
RFC 5802 for SCRAM-SHA-256, the manual of commands and stages (mongodb.com/docs/manual/reference:
$vectorSearch, $search, $searchMeta, $rankFusion, $scoreFusion) and, for ranks of equal scores, the
server's source. Searches are exact, and no analyzer stems.
"""

import base64
import hashlib
import re
import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler
from threading import Lock
from typing import Any

import bson
from doubles.contract_server import RefusedError, only, rank_vectors, rank_words, require, serve_tcp
from doubles.mongodb_fusion import fuse_ranks, fuse_scores
from doubles.mongodb_wire import Command, read_message, receive, sign

OP_MSG = 2013
USER, PASSWORD = "me", "s3cret-key"
ITERATIONS = 4096
BATCH = 50
DENIED, UNKNOWN, NO_INDEX = 18, 59, 27


@dataclass(frozen=True)
class Answer:
    """What is answered instead after so many seconds; None ends the connection, half of it said."""

    body: dict[str, Any] | None
    seconds: float = 0.0


@dataclass
class MongoDouble:
    """A deployment with one node; documents and search indexes by the names of collections."""

    version: str = "8.2.1"
    collections: dict[str, dict[Any, dict[str, Any]]] = field(default_factory=dict)
    indexes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    cursors: dict[int, list[Any]] = field(default_factory=dict)
    asked: list[Command] = field(default_factory=list)
    fault: Callable[[Command], Answer | None] = lambda _: None
    # Of so many looks at an index each finds less than there is.
    uncounted: int = 0
    unready: int = 1
    lock: Lock = field(default_factory=Lock)

    def serve(self):
        """Serve on a free port, whose address is given."""
        double = self

        class Handler(BaseRequestHandler):
            def handle(self):
                double._converse(self.request)

        return serve_tcp(Handler, "mongodb")

    def _converse(self, connection):
        """Answer the messages of one connection until it ends."""
        session = {}
        while head := receive(connection, 16):
            length, request, _, operation = struct.unpack("<iiii", head)
            require(operation == OP_MSG, "only OP_MSG is spoken")
            command = read_message(receive(connection, length - 16))
            with self.lock:
                answer = self._answer(command, session)
            time.sleep(answer.seconds)
            body = bson.encode(answer.body or {"ok": 1})
            packed = struct.pack("<iiiiib", 21 + len(body), 1, request, OP_MSG, 0, 0) + body
            if answer.body is None:
                connection.sendall(packed[: len(packed) // 2])
                return
            connection.sendall(packed)

    def _answer(self, command, session):
        self.asked.append(command)
        if faulty := self.fault(command):
            return faulty
        open_ = command.name in ("hello", "saslStart", "saslContinue")
        try:
            require(command.body["apiVersion"] == "1", "apiVersion")
            require(open_ or session.get("known"), "Authentication failed.", DENIED)
            act = getattr(self, f"_do_{command.name}", None)
            require(act, f"no such command: '{command.name}'", UNKNOWN)
            assert act
            told = act(command.body, session) if open_ else act(command.body)
        except RefusedError as failed:
            return Answer({"ok": 0, "errmsg": str(failed), "code": failed.status})
        return Answer({"ok": 1, **told})

    @property
    def key(self):
        """The password that it knows."""
        return PASSWORD

    def name(self, asked):
        return str(asked.body)

    def answer(self, asked):
        """Do what is asked."""
        getattr(self, f"_do_{asked.name}")(asked.body)

    def misbehave(self, kind, said, asked):
        """Return what is answered in a bad way, as those of other vendors do."""
        match kind:
            case "unheard":
                self.answer(asked)
                return Answer({"ok": 1}, seconds=0.6)
            case "late":
                return Answer({"ok": 1}, seconds=0.6)
            case "half":
                return Answer(None)
            case "garbage":
                batch = {"id": 0, "ns": "x.y", "firstBatch": [{"_id": "<html>"}]}
                return Answer({"ok": 1, "cursor": batch})
        code = {"429": 462, "503": 91, "500": 8}[kind]
        return Answer({"ok": 0, "code": code, "errmsg": said})

    @property
    def kept(self):
        """The names of what is there."""
        notes = self.collections.get("notes", {})
        return {*notes, *self.collections, *self.indexes} - {"notes"}

    def lose_a_text(self):
        (name,) = self.kept
        del self.collections[name][0]

    def rewrite_note(self, old, new):
        (note,) = self.collections["notes"].values()
        assert old in note["note"]
        note["note"] = note["note"].replace(old, new)

    def _do_hello(self, body, session):
        sizes = {"maxBsonObjectSize": 1 << 24, "maxMessageSizeBytes": 48_000_000}
        limits = {"maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 27}
        known = {"saslSupportedMechs": ["SCRAM-SHA-256"]} if "saslSupportedMechs" in body else {}
        return {"isWritablePrimary": True, "readOnly": False, **sizes, **limits, **known}

    def _do_saslStart(self, body, session):  # noqa: N802
        require(body["mechanism"] == "SCRAM-SHA-256", "mechanism")
        bare = body["payload"].decode()[3:]
        user, nonce = re.fullmatch("n=([^,]*),r=(.*)", bare).groups()  # type: ignore[union-attr]
        salt = secrets.token_bytes(28)
        nonce += secrets.token_urlsafe(24)
        first = f"r={nonce},s={base64.b64encode(salt).decode()},i={ITERATIONS}"
        session |= {"user": user, "salt": salt, "bare": bare, "first": first}
        return {"conversationId": 1, "done": False, "payload": first.encode()}

    def _do_saslContinue(self, body, session):  # noqa: N802
        final = body["payload"].decode()
        without, _, proof = final.partition(",p=")
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), session["salt"], ITERATIONS)
        message = f"{session['bare']},{session['first']},{without}".encode()
        key = sign(salted, b"Client Key")
        signature = sign(hashlib.sha256(key).digest(), message)
        expected = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        known = session["user"] == USER and base64.b64decode(proof) == expected
        require(known, "Authentication failed.", DENIED)
        session["known"] = True
        server = base64.b64encode(sign(sign(salted, b"Server Key"), message)).decode()
        return {"conversationId": 1, "done": True, "payload": f"v={server}".encode()}

    def _do_ping(self, body):
        return {}

    _do_endSessions = _do_ping  # noqa: N815

    def _do_buildInfo(self, body):  # noqa: N802
        return {"version": self.version}

    _do_buildinfo = _do_buildInfo

    def _do_create(self, body):
        require(body["create"] not in self.collections, "Collection already exists", 48)
        self.collections[body["create"]] = {}
        return {}

    def _do_drop(self, body):
        self.collections.pop(body["drop"], None)
        self.indexes.pop(body["drop"], None)
        return {}

    def _do_update(self, body):
        stored = self.collections.setdefault(body["update"], {})
        for each in body["updates"]:
            only(each, "q", "u", "upsert", "multi")
            require(list(each["q"]) == ["_id"] and each["upsert"] and "$set" not in each["u"], "q")
            stored[each["q"]["_id"]] = {**each["u"], "_id": each["q"]["_id"]}
        return {"n": len(body["updates"]), "nModified": 0}

    def _do_delete(self, body):
        stored = self.collections.get(body["delete"], {})
        gone = [stored.pop(each["q"]["_id"], None) for each in body["deletes"]]
        return {"n": sum(each is not None for each in gone)}

    def _do_find(self, body):
        require(not body["filter"], "all are found")
        found = list(self.collections.get(body["find"], {}).values())
        return self._page(body["find"], found[: body.get("limit") or None], body)

    def _do_getMore(self, body):  # noqa: N802
        require(body["getMore"] in self.cursors, "CursorNotFound", 43)
        rest = self.cursors.pop(body["getMore"])
        return self._page(body["collection"], rest, body, "nextBatch", body["getMore"])

    def _page(self, name, found, body, batch="firstBatch", cursor=0):
        """Return a part of an answer, with a cursor for what is left."""
        page, rest = found[:BATCH], found[BATCH:]
        if rest:
            cursor = cursor or secrets.randbelow(1 << 62) + 1
            self.cursors[cursor] = rest
        space = f"{body['$db']}.{name}"
        return {"cursor": {"id": cursor if rest else 0, "ns": space, batch: page}}

    def _do_createSearchIndexes(self, body):  # noqa: N802
        name = body["createSearchIndexes"]
        require(name in self.collections, f"Collection '{name}' does not exist.", 26)
        for made in body["indexes"]:
            only(made, "name", "type", "definition")
            require(made["name"] not in self.indexes.get(name, {}), "Duplicate Index", 68)
            if made["type"] == "vectorSearch":
                (each,) = made["definition"]["fields"]
                only(each, "type", "path", "numDimensions", "similarity", "quantization")
                require(each["type"] == "vector" and 1 <= each["numDimensions"] <= 8192, "fields")
                require(each["similarity"] in ("cosine", "dotProduct", "euclidean"), "similarity")
            else:
                require(made["type"] == "search", "type")
                only(made["definition"], "mappings", "analyzer")
            self.indexes.setdefault(name, {})[made["name"]] = made
        return {"indexesCreated": [{"name": made["name"]} for made in body["indexes"]]}

    def _do_aggregate(self, body):
        name = body["aggregate"]
        return self._page(name, self._run(name, body["pipeline"]), body)

    def _run(self, name, pipeline):
        """Return what a pipeline gives; each stage has one key."""
        (first, given), *rest = ((next(iter(it)), next(iter(it.values()))) for it in pipeline)
        if first == "$listSearchIndexes":
            self.unready -= bool(self.unready)
            ready = not self.unready
            made = self.indexes.get(name, {}).values()
            return [{**it, "queryable": ready, "status": "READY"} for it in made]
        if first == "$searchMeta":
            only(given, "index", "exists", "count")
            fields = self._index(name, given)["definition"]["mappings"]["fields"]
            require(given["exists"]["path"] in fields, "path is not indexed")
            return [{"count": {"total": self._lag(len(self.collections[name]))}}]
        scored, kind = self._search(name, first, given), first
        for stage, value in rest:
            if stage == "$limit":
                scored = scored[:value]
            elif stage == "$count":
                return [{value: len(scored)}] if scored else []
            else:
                require(stage == "$project", f"Unrecognized pipeline stage name: '{stage}'", 40324)
                metas = {"$vectorSearch": "vectorSearchScore", "$search": "searchScore"}
                require(value["score"] == {"$meta": metas.get(kind, "score")}, "$meta")
        return [{"_id": key, "score": score} for key, score in scored]

    def _lag(self, count):
        if self.uncounted and count:
            self.uncounted -= 1
            return count - 1
        return count

    def _index(self, name, given):
        index = self.indexes.get(name, {}).get(given["index"])
        require(index, f"no search index {given['index']}", NO_INDEX)
        assert index
        return index

    def _search(self, name, stage, given):
        documents = self.collections.get(name, {})
        if stage == "$search":
            only(given, "index", "text")
            only(given["text"], "query", "path")
            fields = self._index(name, given)["definition"]["mappings"]["fields"]
            require(given["text"]["query"], '"text.query" cannot be empty', 8)
            require(fields[given["text"]["path"]]["type"] == "string", "path is not indexed")
            path = given["text"]["path"]
            return rank_words(
                {key: it[path] for key, it in documents.items()}, given["text"]["query"]
            )
        if stage == "$vectorSearch":
            (indexed,) = self._index(name, given)["definition"]["fields"]
            only(given, "index", "path", "queryVector", "limit", "exact", "numCandidates")
            require(given["path"] == indexed["path"], "path is not indexed")
            size = indexed["numDimensions"]
            require(len(given["queryVector"]) == size, f"{size} dimensions are indexed", 8)
            require(bool(given.get("exact")) != ("numCandidates" in given), "numCandidates, exact")
            least, most = given["limit"], given.get("numCandidates", 10_000)
            require(1 <= least <= most <= 10_000, "limit, numCandidates")
            vectors = {key: it[given["path"]] for key, it in documents.items()}
            found = rank_vectors(vectors, given["queryVector"])[: given["limit"]]
            return [(key, (1 + cosine) / 2) for key, cosine in found]
        require(stage in ("$rankFusion", "$scoreFusion"), f"'{stage}'", 40324)
        needed = (8, 0) if stage == "$rankFusion" else (8, 2)
        version = tuple(int(part) for part in self.version.split(".")[:2])
        require(version >= needed, f"Unrecognized pipeline stage name: '{stage}'", 40324)
        only(given, "input", "combination", "scoreDetails")
        lists = {}
        for each, inner in given["input"]["pipelines"].items():
            require(each and "." not in each and not each.startswith("$"), "a pipeline's name")
            allowed = ("$search", "$vectorSearch", "$limit", "$sort")
            require(all(next(iter(it)) in allowed for it in inner), "no selection pipeline")
            lists[each] = [(it["_id"], it["score"]) for it in self._run(name, inner)]
        fuse = fuse_ranks if stage == "$rankFusion" else fuse_scores
        return fuse(lists, given)
