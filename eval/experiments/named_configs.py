"""Configs by their names: those of ./configs, and those that come with Assay."""

from collections.abc import Collection
from pathlib import Path

from eval.shipped import find_shipped
from retrievers.base import AssayError
from retrievers.base.suggestions import suggest
from retrievers.store.paths import parse_path

SUFFIXES = (".yaml", ".yml")
NO_PIPELINES = ("gate", "targets")  # settings of commands that lie beside configs


def list_configs() -> dict[str, Path]:
    """Return the path of every config that has a name, by name; ./configs comes first."""
    found: dict[str, Path] = {}
    for folder in (Path("configs"), find_shipped("configs")):
        for path in sorted(folder.glob("*.yaml")):
            if path.stem not in NO_PIPELINES:
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def is_config(reference: str) -> bool:
    """Say whether `reference` is a config, by path or name; any other names a run."""
    return reference.endswith(SUFFIXES) or reference in list_configs()


def find_config(config: str | Path, source: str = "config") -> Path:
    """Return the path of a config that `source` gives by its path or by its name.

    Raises AssayError, listing the names there are, for a name that no config has.
    """
    named = list_configs()
    if str(config) in named:
        return named[str(config)]
    path = parse_path(config, source)
    if path.is_file() or (path.suffix in SUFFIXES and any(path.parent.glob("*.yaml"))):
        return path  # where it is missing, its reader lists those beside it
    raise AssayError(_refuse(path.stem if path.suffix in SUFFIXES else str(config), str(config)))


def find_base(base: str, path: Path, above: Collection[Path]) -> Path:
    """Return the file that the config at `path` names as its base.

    That is a path from its folder; or a name, of a config beside it or of one that has a name
    anywhere. The files `above`, which are based on one another down to `path`, are passed over for
    a name, so that a config may bear that of its base. Raises AssayError.
    """
    source = f"{path}: base"
    beside = parse_path(base, source, path.parent)
    if base.endswith(SUFFIXES) or beside.is_file():
        return beside
    folders = (path.parent, Path("configs"), find_shipped("configs"))
    for folder in folders if base == Path(base).name else ():
        named = parse_path(f"{base}.yaml", source, folder)
        if named.is_file() and named.resolve() not in above:
            return named
    raise AssayError(f"{source}: {_refuse(base, base)}")


def _refuse(name: str, given: str) -> str:
    named = list_configs()
    near = suggest(name, named)
    return f"{given}: no such config; by name there are: {', '.join(named) or 'none'}{near}"
