"""The two parts of a collection's questions: whole groups, which stay where they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.collections.catalog import find
from assay.eval.collections.groups import find_groups
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.eval.collections.parts import PARTS, take_part
from assay.retrievers.base import AssayError


def make(documents):
    """Return a collection whose question i is answered by the document of that number."""
    return make_collection(
        {f"d{i}": f"text {i}" for i in range(40)},
        {f"q{i}": f"question {i}" for i in range(len(documents))},
        {f"q{i}": {f"d{document}": 1} for i, document in enumerate(documents)},
    )


def deal(collection):
    """Return the part of each question by its id."""
    found = {}
    for part in PARTS:
        try:
            dealt = take_part(collection, part)
        except AssayError:
            continue
        assert dealt.name == f"{collection.name}:{part}"
        assert dealt.gold.keys() == {query.id for query in dealt.queries}
        assert not found.keys() & dealt.gold.keys()
        found |= dict.fromkeys(dealt.gold, part)
    return found


@given(st.lists(st.integers(0, 39), min_size=1, max_size=60), st.integers(0, 39))
def test_each_question_is_in_one_part_with_its_group_and_stays_there(documents, another):
    collection = make(documents)
    found = deal(collection)
    assert found.keys() == {query.id for query in collection.queries}
    groups = find_groups(collection.queries, collection.gold)
    of_group = {}
    for id_, part in found.items():
        of_group.setdefault(groups[id_], set()).add(part)
    assert all(len(parts) == 1 for parts in of_group.values())
    larger = deal(make([*documents, another]))
    assert {id_: larger[id_] for id_ in found} == found


def test_parts_are_loaded_by_name_and_what_is_none_is_refused():
    whole = load("harbourline")
    dealt = [load(f"harbourline:{part}") for part in PARTS]
    assert sum(len(part.queries) for part in dealt) == len(whole.queries)
    assert len({whole.digest, *(part.digest for part in dealt)}) == 3
    assert [part.name for part in dealt] == [f"harbourline:{part}" for part in PARTS]
    dealt = deal(make([0]))
    (missing,) = set(PARTS) - set(dealt.values())
    with pytest.raises(AssayError, match=f"in-memory: has no {missing} questions"):
        take_part(make([0]), missing)
    with pytest.raises(AssayError, match="allowed: all, development, held-out"):
        find("harbourline:held_out")
