"""Packages that name parts, made for tests: the metadata that an installed package has."""

from assay.eval.scoring import measures


def install(folder, monkeypatch, group, **parts):
    """Make `parts`, paths of classes by name, look as if a package had them in `group`."""
    metadata = folder / "plugged-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {path}" for name, path in parts.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(folder)
    measures.find.cache_clear()
