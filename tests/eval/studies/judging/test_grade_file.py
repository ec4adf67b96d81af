"""The file of grades: what is kept, and what is not taken for one."""

import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from samples.judged_guide import APT

from assay.eval.studies.judging.grades import SCHEMA, GradeFile
from assay.retrievers.base import AssayError


def test_another_file_or_database_is_not_taken_for_grades(tmp_path):
    path = tmp_path / "text.grades.db"
    path.write_text("no database, but long enough to be read as one " * 9)
    with pytest.raises(AssayError, match="cannot be used as a file of grades"):
        GradeFile(path)
    other = sqlite3.connect(tmp_path / "pool.csv.grades.db", isolation_level=None)
    other.execute("CREATE TABLE theirs (a)")
    with pytest.raises(AssayError, match="is no file of grades"):
        GradeFile(tmp_path / "pool.csv.grades.db")
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    other.execute("INSERT INTO theirs VALUES (1)")  # nothing is locked
    other.close()


def test_judges_may_start_together_on_a_new_file(tmp_path):
    path = tmp_path / "pool.csv.grades.db"
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        first.execute(statement)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(GradeFile, path)
        time.sleep(0.2)  # it meets a file that is half made
        first.execute("COMMIT")
        first.close()
        file = second.result()
    file.add(APT.digest, "anna", 1)
    file.close()


def test_closing_waits_for_a_thread_that_reads(grades):
    """SQLite's own lock does not keep a connection from being closed between two steps."""
    with ThreadPoolExecutor() as pool:
        with grades._lock:  # as a thread that reads holds it
            waiting = [pool.submit(grades.close), pool.submit(grades.read_grades)]
            for one in waiting:
                with pytest.raises(TimeoutError):
                    one.result(0.2)
        waiting[0].result()
    with pytest.raises(AssayError, match=f"{grades.path}: .*closed"):
        grades.add(APT.digest, "anna", 2)


def test_the_file_alone_holds_all_grades_while_the_page_is_open(grades, tmp_path):
    for grade in range(4):
        grades.add(APT.digest, "anna", grade)
    shutil.copy(grades.path, tmp_path / "copy.db")
    copied = GradeFile(tmp_path / "copy.db")
    assert copied.read_grades() == grades.read_grades() != {}
    copied.close()


def test_a_grade_is_on_the_disk_before_the_page_hears_of_it(grades):
    extra = 3  # the folder, too
    assert grades._base.execute("PRAGMA synchronous").fetchone() == (extra,)
