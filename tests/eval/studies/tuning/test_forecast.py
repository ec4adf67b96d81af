"""What is said of the time that a space takes, before it is searched."""

import re

import pytest
from tools.own_cache import make_cache

from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.studies.tuning.forecast import describe_work, time_searches
from assay.retrievers.models.caching import CachingEncoder

SOURCE = "documents.context.source"


def forecast(*sources):
    """Return what is said of contexts on a few queries, after the config as given."""
    given = ["dataset=harbourline", "limit=3"]
    first, *points = [
        load_config("hybrid", [*given, f"{SOURCE}={name}"]) for name in ("none", *sources)
    ]
    points.append(load_config("bm25", [*given, f"{SOURCE}={sources[0]}"]))  # embeds nothing
    collection, resources = load("harbourline"), make_resources()
    seconds = time_searches(first, points, collection, collection.queries[:3], resources)
    return describe_work(points, collection, resources, first, seconds)


@pytest.mark.slow
def test_only_texts_that_are_not_kept_are_to_be_embedded(tmp_path, monkeypatch):
    assert re.fullmatch(r"2 points on 1 kind of chunks: about \d+ s", forecast("none"))
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    embedded = []
    keep = CachingEncoder.encode

    def note(self, texts):
        embedded.extend(self.find_missing(texts))
        return keep(self, texts)

    monkeypatch.setattr(CachingEncoder, "encode", note)
    told = forecast("headings", "headings", "none")
    found = re.fullmatch(
        r"4 points on 2 kinds of chunks: about (\d+) s, (\d+) of them to embed (\d+) chunks", told
    )
    assert found, told
    total, embedding, missing = map(int, found.groups())
    assert total >= embedding > 1
    # The given chunks were embedded for their pace, and no other.
    assert 0 < missing <= len(embedded)
