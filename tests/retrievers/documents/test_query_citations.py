"""Which ids a query names, by its form alone."""

import pytest

from assay.retrievers.documents.references.query_citations import read_mentions


def read(query):
    return [mention.ids[0] for mention in read_mentions(query)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("Section 42-2201(7)", ["sec_42_2201_7"]),
        ("§ 42–516(c)", ["sec_42_516_c"]),
        ("sec. 42-516(c)", ["sec_42_516_c"]),
        ("SEC.42-516 ( C )", ["sec_42_516_c"]),
        ("section42‑516", ["sec_42_516"]),
        ("42-3501.03(6)(A)", ["sec_42_3501_03_6_a"]),
        ("what does section 203(a)(1) say", ["sec_203_a_1"]),
        ("§ 42-2702.07(a–1)(6)", ["sec_42_2702_07_a1_6"]),
        ("sect 5, s. 6 and para. 7.1", ["sec_5", "sec_6", "sec_7_1"]),
        ("Chapter 19", ["chapter_19"]),
        ("partsno. 7", ["part_7"]),
        ("tİtle 5", ["sec_5"]),  # a pattern that ignores case takes it for a title
        ("ch. 31A of title 42", ["chapter_31a", "title_42"]),
        ("see appendix b, or Part IV", ["appendix_b", "part_iv"]),
        ("chapters 3 and 4", ["chapter_3", "chapter_4"]),
        ("§§ 801 through 804, 811(a)", ["sec_801", "sec_802", "sec_803", "sec_804", "sec_811_a"]),
        ("subsection (c) of section 42-516", ["sec_42_516_c"]),
        ("paragraph (2) of subsection (c) of § 42-516", ["sec_42_516_c_2"]),
        ("section 42-516, subsection (c), paragraph 2", ["sec_42_516_c_2"]),
        ("sec_42_516_c", ["sec_42_516_c"]),
        ("4.2 Refunds", ["sec_4_2"]),
        ("Rule 26 f", ["sec_26_f"]),
        ("section 5 a of the act", ["sec_5_a"]),
        ("section 5 a boat", ["sec_5"]),
        ("Section Two", ["sec_2"]),
        ("section IV", ["sec_iv"]),
        ("chapter one", ["chapter_1"]),
    ],
)
def test_what_is_named(query, ids):
    assert read(query) == ids


@pytest.mark.parametrize(
    "query",
    [
        "how do I schedule a meeting",
        "the part I wrote",
        "the part one plays",
        "rule one out",
        "section civil law",
        "section c code",
        "Which Part I should read",
        "3.5 % more",
        "12% off",
        "phone $42.50",
        "sections of the report",
        "",
    ],
)
def test_what_is_not(query):
    assert read(query) == []


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("sections 801–803", [["sec_801_803"], ["sec_801", "sec_802", "sec_803"]]),
        ("section 5 - 6 items", [["sec_5_6"], ["sec_5"], ["sec_5", "sec_6"]]),
        ("42-516c", [["sec_42_516c"], ["sec_42_516_c"]]),
        ("Article III", [["article_iii"], ["article_3"]]),
        ("Article 44", [["article_44"], ["article_xliv"]]),
        ("Art. 6 para. 1", [["article_6_1"], ["article_6", "sec_1"], ["article_6_1"],
                            ["article_vi_1"]]),
        ("what does Art. 6 para. 1 lit. f say",
         [["article_6_1_f"], ["article_6", "sec_1_f"], ["article_6_1_f"], ["article_vi_1_f"]]),
        ("Schedule A, paragraph 4(b)",
         [["schedule_a_4_b"], ["schedule_a", "sec_4_b"], ["schedule_a_4_b"]]),
        ("paragraph 4 of the Schedule A",
         [["schedule_a_4"], ["schedule_a", "sec_4"], ["schedule_a_4"]]),
    ],
)  # fmt: skip
def test_other_readings_come_after_the_literal_one(query, ids):
    (mention,) = read_mentions(query)
    assert [[one.ids[0] for one in reading] for reading in mention.readings()] == ids
    assert mention.text in query
    # What is above comes after what is named.
    (mention,) = read_mentions("§ 7-202(a)(2)(B)")
    assert mention.ids == ["sec_7_202_a_2_b", "sec_7_202_a_2", "sec_7_202_a", "sec_7_202"]
