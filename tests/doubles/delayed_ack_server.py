"""A server whose answers wait for delayed acknowledgements: it sends some of them in pieces.

Nagle's algorithm holds the last piece back until the client has acknowledged the first, and the
client delays that. On a new connection the system acknowledges the first few at once.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

BODY = b"found" * 40
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)


@contextmanager
def serve_slowly(whole: int, of: int) -> Iterator[tuple[str, int]]:
    """Serve on a free port; of so many answers in a row on a connection, `whole` are sent whole."""

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            number = 0
            while lines.readline():
                while lines.readline() not in (b"\r\n", b""):
                    pass
                number += 1
                if number % of < whole:
                    connection.sendall(HEAD + BODY)
                else:
                    for piece in (HEAD, BODY[:50], BODY[50:]):
                        connection.sendall(piece)

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=accept, daemon=True).start()
        yield server.getsockname()
