"""A digest of the code behind a cached value: a module and all that it imports in the project."""

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from assay.retrievers.store.digest import digest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "assay"
# An import statement at any depth. A line of a docstring that looks like one does no harm.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"#[^\n]*")
_DATA = re.compile(rb"[\"']([\w-]+\.(?:yaml|toml|sql|json|jsonl|txt|csv))[\"']")


class Source(NamedTuple):
    """One file: the digest of its content, the names it imports, the data files it names."""

    digest: str
    imports: frozenset[str]
    data: tuple[Path, ...]


@cache
def digest_imports(*modules: str) -> str:
    """Return a digest of the sources of `modules` and of all that they import, at any depth.

    Only files of this project are followed; of another module its own file counts. A data file
    counts with the module beside it that names it. The versions of libraries are no part of it.

    Args:
        modules: dotted names, such as the caller's `__name__`; `package.*` stands for every file
            below a package, templates included.

    Returns:
        A SHA-256, in hex.

    Raises:
        LookupError: this project has no such module.
    """
    return digest(sorted((name, source.digest) for name, source in list_sources(*modules).items()))


def list_sources(*modules: str) -> dict[str, Source]:
    """Return the sources that `digest_imports` reads, by module or by a data file's path."""
    found: dict[str, Source] = {}
    ahead = []
    for name in modules:
        package = name.removesuffix(".*")
        if package == name:
            found[name] = read_root(name)
            ahead.append(found[name])
        else:
            for path in list_files(package):
                found[path.relative_to(ROOT).as_posix()] = source = read_source(path)
                ahead.append(source)
    while ahead:
        source = ahead.pop()
        for path in source.data:
            found[path.relative_to(ROOT).as_posix()] = read_source(path)
        for name in source.imports:
            if name not in found and (file := find_file(name)):
                found[name] = read_source(file)
                ahead.append(found[name])
    return found


def read_root(module: str) -> Source:
    """Return the source of a module that is in this project, or loaded from elsewhere.

    A module without a file, such as a notebook's, has an empty one.
    """
    path: Path | None
    if module.partition(".")[0] == PACKAGE:
        if (path := find_file(module)) is None:
            raise LookupError(f"there is no module {module}")
    else:
        file = getattr(sys.modules.get(module), "__file__", None)
        path = Path(file) if file else None
    return read_source(path) if path else Source("", frozenset(), ())


@cache
def find_file(module: str) -> Path | None:
    """Return the file of a module of this project; None where it is none."""
    if module.partition(".")[0] != PACKAGE:
        return None
    above = find_file(module.rpartition(".")[0])
    if above and above.name != "__init__.py":  # of a module is taken no module, as nearly always
        return None
    path = find_place(module)
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def find_place(module: str) -> Path:
    """Return the path of a module or package of this project, without a suffix."""
    return ROOT.joinpath(*module.split(".")[1:])


@cache
def list_files(package: str) -> tuple[Path, ...]:
    """Return all files below a package but compiled ones.

    Raises LookupError where there is no such package.
    """
    paths = sorted(find_place(package).rglob("*"))
    files = tuple(path for path in paths if "__pycache__" not in path.parts and path.is_file())
    if not files:
        raise LookupError(f"there is no package {package}")
    return files


@cache
def read_source(path: Path) -> Source:
    """Return what decides of a file which others count with it."""
    content = read_bytes(path)
    identity = hashlib.sha256(content).hexdigest()
    if path.suffix != ".py":
        return Source(identity, frozenset(), ())
    parts = (PACKAGE, *path.relative_to(ROOT).parent.parts) if path.is_relative_to(ROOT) else ()
    data = {path.with_name(name.decode()) for name in _DATA.findall(content)} if parts else ()
    return Source(
        identity,
        frozenset(find_imports(content, ".".join(parts))),
        tuple(sorted(file for file in data if file.is_file())),
    )


def read_bytes(path: Path) -> bytes:
    """Return the content of a source file."""
    return path.read_bytes()


def find_imports(text: bytes, package: str) -> Iterator[str]:
    """Yield what may be modules: `a` and `a.b`, of `from a import b` as of `import a.b`.

    Packages further up are left out: nothing is taken from them.

    Args:
        text: a Python source of `package`.
        package: from which relative imports are counted.
    """
    for module, names, plain in _IMPORT.findall(text):
        if plain:
            for name in _split(plain):
                yield from filter(None, (name, name.rpartition(".")[0]))
            continue
        base = module.decode()
        if level := len(base) - len(base.lstrip(".")):
            above = package.split(".")
            base = ".".join([*above[: len(above) - level + 1], *filter(None, [base[level:]])])
        yield base
        yield from (f"{base}.{name}" for name in _split(names))


def _split(names: bytes) -> list[str]:
    """Return the names of a list that may be in parentheses, renamed, or commented on."""
    parts = _COMMENT.sub(b"", names).decode().strip("() \t\r\n").split(",")
    return [part.split()[0] for part in parts if part.strip()]
