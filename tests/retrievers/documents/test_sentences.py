"""Where sentences end, and where a stop ends none."""

from itertools import pairwise

import pytest

from assay.retrievers.documents.definitions import find_definitions
from assay.retrievers.documents.structure.sentences import sentence_ends
from assay.retrievers.documents.structure.structure import parse


@pytest.mark.parametrize(
    "sentences",
    [
        ["1. The fee is due. ", "2. The term is long."],
        ["As follows: 1. The fee; 2. The term. ", "No more."],
        ["- The fee\n4.2. Refunds are made. ", "Not all."],
        ["Section 13. Fees are due. ", "ARTICLE II. Fines are too."],
        ["§ 42-516(c). A clinic may close. ", "Art. 5. It may not."],
        ["**2.** A court sits."],
        ["It rose to 12. ", "The next fell."],
        ["See Section 5. ", "It applies."],
        ["In what year? ", "2020. ", "The end."],
    ],
)
def test_a_number_before_its_words_is_no_sentence(sentences):
    text = "".join(sentences)
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]
    found = [text[begin:end] for begin, end in pairwise(ends)]
    assert found == sentences
    text = "## Terms\n\nThese hold. 2. The term “fee” means a sum. A fine is none."
    (definition,) = find_definitions(parse(text))
    assert text[definition.start : definition.end].strip() == "2. The term “fee” means a sum."
