"""Elements of TREC's markup, `<DOC>…</DOC>`, in time that grows as the text, whatever it holds."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple


class Element(NamedTuple):
    """An element from `start` to `end`, and its content from `begin` to `stop`."""

    start: int
    begin: int
    stop: int
    end: int


class Elements:
    """Finds the elements of some names, in capitals or not, in texts or in bytes.

    One pattern of both tags would read on from every tag that opens what is never closed.
    """

    def __init__(self, *names: str, binary: bool = False) -> None:
        def write(pattern: str) -> re.Pattern[Any]:
            return re.compile(pattern.encode() if binary else pattern, re.I)

        self.opening = write(f"<({'|'.join(names)})>")
        self._closing = {name.encode() if binary else name: write(f"</{name}>") for name in names}

    def find(self, content: Any) -> Iterator[Element]:
        """Yield each element: from the first tag that opens one to the next that closes it."""
        closing = {name.lower(): pattern for name, pattern in self._closing.items()}
        i = 0
        while closing and (opened := self.opening.search(content, i)):
            name, i = opened[1].lower(), opened.end()
            if name not in closing:
                continue
            if closed := closing[name].search(content, i):
                i = closed.end()
                yield Element(opened.start(), opened.end(), closed.start(), i)
            else:
                del closing[name]
