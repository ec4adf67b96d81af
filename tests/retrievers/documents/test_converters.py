"""Files read by a command of the user's own."""

import os
import re
import sys
from contextlib import closing

import pytest

from assay.eval.running.sources import open_source
from assay.retrievers.base import AssayError
from assay.retrievers.documents.conversion.conversion import ConversionError, Converter
from assay.retrievers.documents.conversion.converters import CommandSettings
from assay.retrievers.documents.conversion.folder import read_folder

UPPER = "import sys; print('# ' + open(sys.argv[1]).read().upper())"


def command(script, code, **keys):
    script.write_text(code)
    words = [sys.executable, str(script), "{file}"]
    return CommandSettings.model_validate({"type": "command", "command": words, **keys})


def test_a_command_converts_and_its_result_is_kept(resources, tmp_path):
    page = tmp_path / "a.html"
    page.write_text("a page")
    script = tmp_path / "upper.py"
    with closing(Converter(resources.cache, command(script, UPPER))) as converter:
        first, again = converter.convert(page), converter.convert(page)
    assert (first.text, first.cached, again.cached) == ("# A PAGE", False, True)
    for changed in (
        command(script, UPPER, version="2"),
        command(tmp_path / "two.py", UPPER.replace("# ", "## ")),
    ):
        with closing(Converter(resources.cache, changed)) as converter:
            assert not converter.convert(page).cached
    other = command(script, UPPER, suffixes=[".pdf"])
    with closing(Converter(resources.cache, other)) as converter:
        assert converter.convert(page).text == "a page", "markitdown reads the others"


def test_a_command_reads_every_suffix_that_it_names(resources, tmp_path):
    for name in ("a.adoc", "b.MD", "c.md", "d.org"):
        (tmp_path / name).write_text("a page")
    read = read_folder(tmp_path, resources, command(tmp_path / "upper", UPPER, suffixes=[".ADOC"]))
    assert {item.id: item.converted.text for item in read.documents} == {
        "a.adoc.md": "# A PAGE",
        "b.MD": "a page",
        "c.md": "a page",
    }
    assert [str(item) for item in read.skipped if item.path == "d.org"] == [
        "d.org: format .org is not read"
    ]
    own = command(tmp_path / "upper", UPPER, suffixes=[".md"])
    read = read_folder(tmp_path, resources, own)
    assert {item.id: item.converted.text for item in read.documents} == {
        "b.MD": "# A PAGE",
        "c.md": "# A PAGE",
    }
    assert not read.untouched


@pytest.mark.parametrize("suffix", ["", "mdx", ".", ".tar.gz", "*.mdx", "a.mdx", ". mdx"])
def test_what_is_no_suffix_is_refused(suffix):
    with pytest.raises(ValueError, match=f"'{re.escape(suffix)}' is no suffix; allowed: a dot"):
        CommandSettings(type="command", command=["cat"], suffixes=[".pdf", suffix])


def test_a_command_that_fails_is_told_and_asked_again(resources, tmp_path):
    page = tmp_path / "a.html"
    page.write_text("a page")
    fails = "import os, sys; print(1) if 'MENDED' in os.environ else sys.exit('no licence')"
    with closing(Converter(resources.cache, command(tmp_path / "f.py", fails))) as converter:
        with pytest.raises(ConversionError, match="its converter ended with 1: no licence"):
            converter.convert(page)
        os.environ["MENDED"] = "1"
        try:
            assert converter.convert(page).text == "1"
        finally:
            del os.environ["MENDED"]
    slow = command(tmp_path / "slow.py", "import time; time.sleep(60)")
    with (
        closing(Converter(resources.cache, slow, seconds=0.2)) as converter,
        pytest.raises(ConversionError, match=r"takes more than 0\.2 s"),
    ):
        converter.convert(page)
    missing = CommandSettings(type="command", command=["no-such-program"])
    with pytest.raises(AssayError, match="there is no program no-such-program"):
        Converter(resources.cache, missing)


def test_a_folder_is_read_by_the_command_of_a_config(resources, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.html").write_text("a page")
    upper = command(tmp_path / "upper.py", UPPER)
    (document,) = open_source(str(tmp_path / "pages"), resources, upper).documents
    assert (document.id, document.text) == ("a.html.md", "# A PAGE")
