"""Configs by name: those of ./configs, and those that come with Assay."""

from collections.abc import Collection, Sequence
from pathlib import Path

from assay.eval.shipped import find_shipped
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.store.paths import parse_path

SUFFIXES = (".yaml", ".yml")
NO_PIPELINES = ("gate", "published", "targets")  # settings of commands, not configs


def list_configs() -> dict[str, Path]:
    """Return the path of every config that has a name, by name; ./configs comes first."""
    found: dict[str, Path] = {}
    for folder in (Path("configs"), find_shipped("configs")):
        for path in sorted(folder.glob("*.yaml")):
            if path.stem not in NO_PIPELINES:
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def is_config(reference: str) -> bool:
    """Return True if `reference` is a config by path or name, with or without an engine."""
    config, _ = split_engine(reference)
    return config.endswith(SUFFIXES) or config in list_configs()


def split_engine(reference: str | Path) -> tuple[str, str | None]:
    """Return the config and the engine that CONFIG@ENGINE names; None if it names no engine.

    A config or a file whose name is all of it takes precedence.
    """
    text = str(reference)
    config, i, engine = text.rpartition("@")
    if not i or "/" in engine or engine.endswith(SUFFIXES):
        return text, None
    whole = text in list_configs() or parse_path(text, "config").exists()
    return (text, None) if whole else (config, engine)


def name_in_engine(config: str, engine: str | None) -> str:
    """Return the reference that `split_engine` splits."""
    return config if engine is None else f"{config}@{engine}"


def add_engines(references: Sequence[str], engines: Sequence[str]) -> list[str]:
    """Return the references, with each config that names no engine replaced by one per engine.

    Raises AssayError if there is no such config.
    """
    free = {text for text in references if is_config(text) and split_engine(text)[1] is None}
    if engines and not free:
        raise AssayError(
            f"--engine {engines[0]}: an engine goes with a config that names none; given: "
            f"{', '.join(references)}"
        )
    named: list[str | None] = [*engines] or [None]
    return [
        name_in_engine(text, engine)
        for text in references
        for engine in (named if text in free else [None])
    ]


def find_config(config: str | Path, source: str = "config") -> Path:
    """Return the path of a config that `source` gives by its path or by its name.

    Raises AssayError, listing the names there are, for a name that no config has.
    """
    named = list_configs()
    if str(config) in named:
        return named[str(config)]
    path = parse_path(config, source)
    if path.is_file():
        return path
    if path.suffix in SUFFIXES and path.stem in named:
        raise AssayError(
            f"{config}: there is no such file here; say `{path.stem}` for {named[path.stem]}"
        )
    if path.suffix in SUFFIXES and any(path.parent.glob("*.yaml")):
        return path  # its reader lists those of the same folder
    raise AssayError(_refuse(path.stem if path.suffix in SUFFIXES else str(config), str(config)))


def find_base(base: str, path: Path, above: Collection[Path]) -> Path:
    """Return the file that the config at `path` names as its base.

    That is a path from its folder; or the name of a config in the same folder or of a named config
    anywhere. When looking up a name, the files `above`, which are based on one another down to
    `path`, are skipped, so that a config may have the name of its base. Raises AssayError.
    """
    source = f"{path}: base"
    beside = parse_path(base, source, path.parent)
    if beside.is_file():
        return beside
    if base.endswith(SUFFIXES):
        name = Path(base).stem
        if base == Path(base).name and name in list_configs():
            raise AssayError(f"{source}: there is no {beside}; `base: {name}` is the one by name")
        return beside  # its reader lists the configs that lie there
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
