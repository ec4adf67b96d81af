"""What is said of several runs is said once."""

from assay.eval.runs.summary.labels import merge_lines


def test_a_line_comes_once_after_the_labels_of_all_it_is_said_of():
    said = [
        ("bm25", "a chunk is too long"),
        ("bm25", ""),
        ("hybrid", "one is degraded"),
        ("hybrid", "a chunk is too long"),
        ("hybrid", "a chunk is too long"),
    ]
    assert merge_lines(said) == ["bm25, hybrid: a chunk is too long", "hybrid: one is degraded"]
    assert merge_lines([]) == []
