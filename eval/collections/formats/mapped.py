"""Documents that stay in their file: of each, memory holds where its line begins."""

import mmap
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path

from eval.collections.formats.reading import decode_line, telling
from eval.collections.formats.rows import Row, RowError, parse_json_row
from eval.collections.formats.source import check_id, describe_taken
from eval.collections.problems import Problems
from retrievers.base import AssayError, Document
from retrievers.store.shelf import ById, Shelf


def shelve(
    path: Path, read: Callable[[Row], Document], problems: Problems
) -> Mapping[str, Document]:
    """Return the documents that `read` makes of the rows of a JSON Lines file, by id.

    The file is mapped into memory and may not change while they are in use. Raises AssayError for
    the first line that is broken; `problems` are strict.
    """
    with telling(path, problems), path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    starts, numbers, hashes = array("q"), array("i"), array("q")

    def take(at: int) -> Document:
        content_of = content[starts[at] : starts[at + 1]]
        return read(parse_json_row(path, numbers[at], decode_line(content_of, numbers[at])))

    def finish() -> Shelf[Document]:
        starts.append(at)
        shelf = Shelf(hashes, take)
        if repeated := shelf.find_repeated():
            first, second = (numbers[at] for at in repeated)
            taken = describe_taken("document", shelf[repeated[0]].id, first)
            problems.error(path, second, taken)
        return shelf

    at, number = 0, 0
    try:
        while end := content.find(b"\n", at) + 1 or len(content) * (at < len(content)):
            number += 1
            line = decode_line(content[at:end], number)
            if line and not line.isspace():
                document = read(parse_json_row(path, number, line))
                check_id("document", document.id)
                starts.append(at)
                numbers.append(number)
                hashes.append(hash(document.id))
            at = end
    except RowError as error:
        finish()  # where an id is taken before, that is the first broken line
        problems.error(path, number, str(error))
    except AssayError:
        finish()
        raise
    shelf = finish()
    return ById(shelf, shelf.__getitem__)
