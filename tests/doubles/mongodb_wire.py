"""Messages of MongoDB's wire protocol: mongodb.com/docs/manual/reference/mongodb-wire-protocol."""

import hmac
import struct
from dataclasses import dataclass
from typing import Any

import bson


@dataclass(frozen=True)
class Command:
    """A command, by its name, and what is in it."""

    name: str
    body: dict[str, Any]


def receive(connection, length):
    """Return so many bytes; none where the connection has ended."""
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:
            return b""
        content += part
    return content


def read_message(content):
    """Return the command of an OP_MSG: a document, and lists of them by their names."""
    i, body = 4, {}
    while i < len(content):
        kind = content[i]
        (size,) = struct.unpack_from("<i", content, i + 1)
        section = content[i + 1 : i + 1 + size]
        if kind == 0:
            body |= bson.decode(section)
        else:
            name, _, documents = section[4:].partition(b"\0")
            body[name.decode()] = bson.decode_all(documents)
        i += 1 + size
    return Command(next(iter(body)), body)


def sign(key, message):
    return hmac.new(key, message, "sha256").digest()
