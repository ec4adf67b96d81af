"""The files of a run for other tools."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from assay.eval.runs.summary.exports import as_cell, as_word


@given(st.text() | st.text(',"ab'))
def test_ids_are_cells_of_csv_as_its_writer_has_them(id_: str) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["", as_word(id_), ""])
    assert text.getvalue() == f",{as_cell(id_)},\n"
