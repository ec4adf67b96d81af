"""Calls to MongoDB, and what goes wrong in them."""

import os
import re
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.servers.service import (
    Fault,
    ServiceConnection,
    ServiceSettings,
)

if TYPE_CHECKING:
    from pymongo.collection import Collection

ADDRESS = "MONGODB_URL"
USER = "MONGODB_USER"
DATABASE = "assay"
NOTES = "notes"
# The indexes of a collection, by what they search.
VECTORS, WORDS = "vectors", "words"
DEEPEST = 10_000
# mongodb.com/docs/manual/reference/error-codes: Unauthorized, AuthenticationFailed.
DENIED = (13, 18)
# AtlasError: whatever Atlas itself turns down, a wrong password or a full disk.
ATLAS = 8000
_ATLAS_DENIED = re.compile(r"\bbad auth\b|authentication failed|not authori[sz]ed", re.I)
# NamespaceExists, IndexAlreadyExists.
TAKEN = (48, 68)
# IngressRequestRateLimitExceeded, MaxTimeMSExpired.
LIMITED = 462
TIMED_OUT = 50
_ADDRESS = re.compile(r"mongodb(\+srv)?://[A-Za-z0-9.-]+(:[0-9]+)?/?")


class MongoConnection(ServiceConnection):
    """Asks the deployment at MONGODB_URL; `version` is the server's."""

    engine = "mongodb"
    vendor = "MongoDB"
    key = "MONGODB_PASSWORD"
    version = ""

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_url(self.engine))
        settings.capabilities.load()
        from pymongo import MongoClient
        from pymongo.errors import PyMongoError
        from pymongo.server_api import ServerApi

        milliseconds = int(settings.timeout_seconds * 1000)
        options: dict[str, Any] = {
            "username": read_user(self.engine),
            "password": self._secret,
            "authSource": "admin",
            "appname": "assay",
            "server_api": ServerApi("1"),
            "connectTimeoutMS": milliseconds,
            "socketTimeoutMS": milliseconds,
            "serverSelectionTimeoutMS": milliseconds,
            # Retries are made and counted here.
            "retryReads": False,
            "retryWrites": False,
        }
        # One node of several leads to the others; a name with a record in DNS does so itself.
        single = {"directConnection": True} if not self.url.startswith("mongodb+srv:") else {}
        try:
            self._client: MongoClient[dict[str, Any]] = MongoClient(self.url, **options, **single)
        except PyMongoError as error:
            raise AssayError(f"engine {self.engine}: {ADDRESS}: {error}") from None
        self._database = self._client[DATABASE]

    def open_collection(self, name: str) -> "Collection[dict[str, Any]]":
        """Return a collection, which need not be there yet."""
        return self._database[name]

    def read_version(self) -> str:
        """Return the server's version."""
        self.version = self.ask(lambda: str(self._client.server_info()["version"]))
        return self.version

    def list_notes(self) -> dict[str, str]:
        """Return the notes, which are a collection of their own."""
        notes = self._database[NOTES]
        return self.ask(lambda: {str(each["_id"]): str(each["note"]) for each in notes.find()})

    def write_note(self, name: str, note: str) -> None:
        """Note what is in a collection."""
        document = {"_id": name, "note": note}
        self.ask(lambda: self._database[NOTES].replace_one({"_id": name}, document, upsert=True))

    def count(self, name: str) -> int:
        """Return how many texts both indexes of a collection know, which lag behind it."""
        collection = self.open_collection(name)

        def count() -> int:
            some = collection.find_one({}, {"vector": 1})
            if some is None:
                return 0
            there = {"index": WORDS, "exists": {"path": "position"}, "count": {"type": "total"}}
            (told,) = collection.aggregate([{"$searchMeta": there}])
            texts = int(told["count"]["total"])
            near = {
                "index": VECTORS,
                "path": "vector",
                "queryVector": some["vector"],
                "exact": True,
                "limit": DEEPEST,
            }
            counted = collection.aggregate([{"$vectorSearch": near}, {"$count": "vectors"}])
            vectors = sum(int(each["vectors"]) for each in counted)
            return texts if vectors >= min(texts, DEEPEST) else vectors

        return self.ask(count)

    def drop(self, name: str) -> None:
        """Remove the collection with its indexes, then its note."""
        self.ask(lambda: self._database.drop_collection(name))
        self.ask(lambda: self._database[NOTES].delete_one({"_id": name}))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from bson.errors import InvalidBSON
        from pymongo import errors

        if isinstance(error, errors.OperationFailure):
            return _read_failure(error)
        if isinstance(error, errors.NetworkTimeout):
            return Fault("late")
        if isinstance(error, errors.NotPrimaryError):
            return Fault("answered", _find_reason(error), 503)
        if isinstance(error, errors.ConnectionFailure):
            return Fault("lost", str(error).partition(", Timeout:")[0])
        garbled = (InvalidBSON, errors.ProtocolError)
        return Fault("garbled") if isinstance(error, garbled) else None


def _read_failure(error: Any) -> Fault:
    said = _find_reason(error)
    if error.code in DENIED or (error.code == ATLAS and _ATLAS_DENIED.search(said)):
        return Fault("answered", said, 401)
    if error.code in TAKEN:
        return Fault("answered", said, 409)
    if error.code == TIMED_OUT:
        return Fault("late")
    if error.code == LIMITED:
        return Fault("answered", said, 429)
    return Fault("answered", said, error.code or 0)


def _find_reason(error: Any) -> str:
    """Return what the server gave as its reason, also that of one write of several."""
    details = error.details if isinstance(error.details, dict) else {}
    failed = [each.get("errmsg") for each in details.get("writeErrors", ())]
    return str(details.get("errmsg") or next(iter(failed), error))


def read_url(engine: str) -> str:
    """Return the address of the deployment. Raises AssayError, which repeats nothing of it."""
    url = os.environ.get(ADDRESS, "")
    if not _ADDRESS.fullmatch(url):
        raise AssayError(
            f"engine {engine}: set {ADDRESS} to the deployment's address, mongodb+srv://HOST or "
            f"mongodb://HOST:PORT, without user, password and options; these are {USER} and "
            f"{MongoConnection.key}"
        )
    return url.rstrip("/")


def read_user(engine: str) -> str:
    """Return the user of the deployment. Raises AssayError."""
    if not (user := os.environ.get(USER, "")):
        raise AssayError(f"engine {engine}: set {USER} to a user of the deployment")
    return user
