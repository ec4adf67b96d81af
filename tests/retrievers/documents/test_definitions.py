"""Definitions in worked texts."""

import pytest

from assay.retrievers.documents.definitions import find_definitions
from assay.retrievers.documents.structure.structure import parse


def find(text):
    return [(found.term, found.form) for found in find_definitions(parse(text))]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("“Fee” means a sum of money.", ["Fee"]),
        ('"Fee" shall mean a sum.', ["Fee"]),
        ('"**fee**" means a sum.', ["fee"]),
        ("**Fee** means a sum.", ["Fee"]),
        ("The term “fee” includes a fine.", ["fee"]),
        (
            "For the purposes of this section, the term “fee” has the same meaning as in § 4.",
            ["fee"],
        ),
        ("“Fee” or “charge” means a sum.", ["Fee", "charge"]),
        ("“Fees,” “fines” and “charges” refer to sums.", ["Fees", "fines", "charges"]),
        ("The word “fee,” except as used in § 4, means a sum.", ["fee"]),
        ("“Fee” except as the plat provides, means and includes a sum.", ["Fee"]),
        ("A fee is refused. “Fee” also means a fine.", ["Fee"]),
        ("Coercion is forbidden. Coercion includes, but is not limited to, threats.", ["Coercion"]),
        ("Overtime means time beyond the roster.", ["Overtime"]),
    ],
)
def test_what_a_term_means(text, terms):
    assert find(text) == [(term, "means") for term in terms]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("the Maritime Authority (“the Authority”).", [("Authority", "short name")]),
        (
            "the Maritime Authority (hereinafter “the Authority”) sits here.",
            [("Authority", "short name")],
        ),
        ("land that may be added, referred to as the “Authority”;", [("Authority", "short name")]),
        (
            "# Glossary\n\nBerth: a place for a ship.\n\n- Draught – depth of a hull\n\nA - b\n",
            [("Berth", "label"), ("Draught", "label")],
        ),
        (
            "# Definitions\n\n(1) “Owners” exists when two own.\n\n(2) “Fee” is a sum.\n",
            [("Owners", "means"), ("Fee", "means")],
        ),
        (
            "# Berths\n\nBerth: a place.\n\n- **Draught**: depth of a hull\n\n“Quay” – a wall.\n",
            [("Draught", "label"), ("Quay", "label")],
        ),
    ],
)
def test_short_names_and_labels(text, terms):
    assert find(text) == terms


@pytest.mark.parametrize(
    "text",
    [
        "He said “no” and “yes” to them.",
        "This means that the gate is closed.",
        "Failing to pay is bad. Losing the card means paying.",
        "**Note:** the gate is closed.",
        "**Warning**: the gate is closed.",
        "**Danger**: the gate is closed.",
        "**Attention** – the gate is closed.",
        "- **Breaking**: one\n- **Breaking**: two\n",
        "This chapter may be cited as the “Fees Act”.",
        "The word “fee” is used in § 4.",
        "The sign “Operational reasons” is not a cause.",
        "```\n“Fee” means a sum.\n```",
        "# Terms and conditions\n\nDelivery: by ship.\n",
        "# Definitions\n\nTo protect low- and middle-income tenants.\n",
    ],
)
def test_what_is_no_definition(text):
    assert find(text) == []


def test_the_extent_of_a_definition():
    text = (
        "# § 1. Definitions.\n\n(1) “Fee” means:\n\n  (A) A sum; or\n\n    (i) A fine.\n\n"
        "(2) “Ship” means a vessel, except that it does not include a raft. A ship floats.\n\n"
        "## § 2. Use.\n\nShips sail. The term “sail” means to go by sea. They moor.\n"
    )
    structure = parse(text)
    fee, ship, sail = find_definitions(structure)
    assert text[fee.start : fee.end].strip().endswith("(i) A fine.")
    assert text[ship.start : ship.end].strip().endswith("A ship floats.")
    assert text[sail.start : sail.end] == "The term “sail” means to go by sea. "
    assert [one.section_id for one in (fee, ship, sail)] == ["sec_1", "sec_1", "sec_2"]
    assert ship.exceptions == ("except that it does not include a raft",)
    assert fee.exceptions == ()
    assert ship.id == "ship"
    (found,) = find_definitions(parse("“Force  Majeure” means an act of God."))
    assert found.id == "force_majeure"
    for clause, exception in (
        ("other than a raft", "other than a raft"),
        ("unless it is a raft", "unless it is a raft"),
        ("excluding rafts", "excluding rafts"),
        ("provided, that it floats", "provided, that it floats"),
        ("but shall not include a raft", "shall not include a raft"),
    ):
        (found,) = find_definitions(parse(f"“Ship” means a vessel, {clause}; it sails."))
        assert found.exceptions == (exception,)
