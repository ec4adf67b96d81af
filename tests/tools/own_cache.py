"""A cache of a test's own."""

from assay.retrievers.store.cache import Cache, default_root


def make_cache(folder):
    """Make a cache in `folder` that has this machine's models and nothing else."""
    models = Cache(default_root()).root / "models"
    models.mkdir(exist_ok=True)
    (folder / "cache").mkdir()
    (folder / "cache" / "models").symlink_to(models)
    return folder / "cache"
