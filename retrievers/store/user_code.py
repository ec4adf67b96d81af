"""The code of somebody's own behind a class: its module, and all that this imports."""

import ast
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

from assay.retrievers.store.digest import digest, digest_file

PROJECT = "assay"


def digest_module(*modules: str) -> str:
    """Return the SHA-256, in hex, of the files of loaded modules and of all that they import.

    Files of the standard library, of other installed packages and of this project are left out:
    versions tell of them.
    """
    tops = {name.partition(".")[0] for name in modules} - {PROJECT}
    files: dict[str, str] = {}
    ahead = list(modules)
    while ahead:
        name = ahead.pop()
        file = find_file(name)
        if file is None or name in files:
            continue
        if not (is_own(name) or name.partition(".")[0] in tops):
            continue
        files[name] = digest_file(file)
        if file.suffix == ".py":
            package = getattr(sys.modules[name], "__package__", None) or ""
            ahead += _list_imports(file, package)
    return digest(sorted(files.items()))


def is_own(module: str) -> bool:
    """Return True if a loaded module is somebody's own: of no library, and not of this project."""
    if module == "__main__":
        return True
    top = module.partition(".")[0]
    file = find_file(module)
    if file is None or top == PROJECT or top in sys.stdlib_module_names:
        return False
    return not any(file.is_relative_to(folder) for folder in _list_libraries())


def find_file(module: str) -> Path | None:
    """Return the file of a loaded module; None if there is none, as of a notebook or a pipe."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return path.resolve() if file and (path := Path(file)).is_file() else None


@cache
def _list_libraries() -> tuple[Path, ...]:
    """Return the folders of installed packages."""
    paths = sysconfig.get_paths()
    folders = {
        paths["purelib"],
        paths["platlib"],
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
    return tuple(Path(folder).resolve() for folder in sorted(folders))


def _list_imports(file: Path, package: str) -> list[str]:
    """Return the names a module may import: `a`, `a.b` for `from a import b` and `import a.b`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            parts = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*parts, node.module or ""]))
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    # Importing a module runs the packages above it, too.
    return [
        ".".join(name.split(".")[: i + 1]) for name in found for i in range(name.count(".") + 1)
    ]
