"""Cards: what they may say, how they are found, where their data lies."""

import hashlib
import io
import tarfile
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assay.eval.collections import catalog
from assay.eval.collections.card import Download
from assay.eval.collections.card_files import read_card
from assay.eval.collections.catalog import find_card, list_cards
from assay.eval.collections.download import fetch, folder_of
from assay.eval.collections.formats.beir import BeirCard
from assay.eval.collections.formats.native import NativeCard
from assay.eval.collections.loading import load
from assay.eval.collections.location import find_data, why_unavailable
from assay.retrievers.base import AssayError

MINIMAL = "name: tiny\ntitle: Tiny\nformat: native\n"


def write_card(folder, text=MINIMAL):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text(text)
    return folder / "dataset.yaml"


def test_a_card_fills_in_what_its_format_usually_has(tmp_path):
    card = read_card(write_card(tmp_path))
    assert isinstance(card, NativeCard)
    assert (card.documents, card.queries, card.variants) == ("docs", "queries.jsonl", ("test",))
    assert (card.location, card.folder, card.language) == (".", tmp_path, "en")


def test_the_first_variant_is_the_default(tmp_path):
    text = "name: x\ntitle: X\nformat: beir\njudgments: {dev: a.tsv, test: [b.tsv, c.tsv]}\n"
    card = read_card(write_card(tmp_path, text))
    assert isinstance(card, BeirCard)
    assert card.variants == ("dev", "test")
    assert card.judgment_files("test") == ["b.tsv", "c.tsv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "must be a mapping of keys to values"),
        ("name: [x\n", "not YAML"),
        (MINIMAL + "title: Twice\n", "line 4: the key 'title' stands twice"),
        (MINIMAL + "source: 2024-02-30\n", "line 4: not YAML: day is out of range"),
        ("name: x\ntitle: X\n", "format: must be one of beir, trec, irds, native"),
        ("name: x\ntitle: X\nformat: csv\n", "format: must be one of"),
        (MINIMAL + "colour: red\n", "colour: unknown key; allowed: name, title"),
        (MINIMAL + "sizes: {documents: many}\n", "sizes.documents: input should be a valid int"),
        (MINIMAL + "min_grade: '2'\n", "min_grade: input should be a valid integer"),
        (MINIMAL + "judgments: {}\n", "judgments: dictionary should have at least 1 item"),
        (MINIMAL + "digests: {docs: abc}\n", "digests.docs: string should match"),
        (MINIMAL.replace("tiny", "a/b"), "name: string should match"),
        ("name: x\ntitle: X\nformat: irds\nlocation: x\n", "location: string should match"),
        (MINIMAL + "location: {url: 'http://x/a.zip'}\n", "location.sha256: missing"),
    ],
)
def test_a_wrong_card_is_refused_in_one_line(tmp_path, text, message):
    path = write_card(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        read_card(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_wrong_key_is_named_at_once(tmp_path):
    path = write_card(tmp_path, "name: x\nformat: native\ncolour: red\nmin_grade: 0\n")
    with pytest.raises(AssayError, match=r"title: .*min_grade: .*colour: "):
        read_card(path)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A current directory and a project, each with a datasets folder."""
    here = tmp_path / "here"
    write_card(here / "datasets/mine", MINIMAL.replace("tiny", "mine"))
    write_card(here / "datasets/both", MINIMAL.replace("Tiny", "of here"))
    write_card(tmp_path / "project/datasets/both", MINIMAL.replace("Tiny", "of the project"))
    write_card(tmp_path / "project/datasets/theirs")
    monkeypatch.chdir(here)
    monkeypatch.setattr(catalog, "find_shipped", (tmp_path / "project").joinpath)
    return here


def test_names_are_looked_up_here_first(workplace):
    assert list(list_cards()) == ["both", "mine", "theirs"]
    assert find_card("both").title == "of here"
    assert find_card("theirs").title == "Tiny"


def test_a_folder_is_found_by_its_path(workplace):
    card = write_card(workplace / "elsewhere/set")
    assert find_card("elsewhere/set").path == Path("elsewhere/set/dataset.yaml")
    assert find_card(str(card)).title == "Tiny"
    with pytest.raises(AssayError, match=r"holds no dataset\.yaml; `assay init`"):
        find_card(str(workplace / "elsewhere"))


def test_an_unknown_name_offers_the_nearest(workplace):
    with pytest.raises(
        AssayError, match=r"their: there is no such .* both, mine, theirs; or .*did you mean theirs"
    ):
        find_card("their")


def test_a_set_that_is_not_here_is_named_where_it_is(tmp_path, monkeypatch):
    more = "location: $ASSAY_DATA/tiny\nirds: irds:beir/tiny/test\n"
    card = read_card(write_card(tmp_path / "tiny", MINIMAL + more))
    end = r"tiny/; or take irds:beir/tiny/test, which ir_datasets downloads \(extra irds\)$"
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    with pytest.raises(AssayError, match=end):
        find_data(card)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "empty"))
    with pytest.raises(AssayError, match="check the value of ASSAY_DATA; or take irds:beir/tiny/"):
        find_data(card)


def test_data_below_a_variable(tmp_path, monkeypatch):
    path = write_card(tmp_path / "tiny", MINIMAL + "location: $ASSAY_DATA/tiny\n")
    card = read_card(path)
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    expected = (
        "collection tiny lies below $ASSAY_DATA, which is not set; "
        "set it to the folder that holds tiny/"
    )
    assert why_unavailable(card) == expected
    with pytest.raises(AssayError) as caught:
        load(str(path.parent))
    assert str(caught.value) == expected
    monkeypatch.setenv("ASSAY_DATA", "")
    assert why_unavailable(card) == expected
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(AssayError, match=r"no folder \$ASSAY_DATA/tiny; check the value"):
        find_data(card)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    assert find_data(card) == tmp_path / "tiny"
    assert "lacks docs, queries.jsonl, judgments.jsonl" in why_unavailable(card)


def make_zip(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


def make_tar(name, text):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def make_link(name, target):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        archive.addfile(entry)
    return buffer.getvalue()


@contextmanager
def serve(content):
    """Serve `content` at every path but /missing; yield the address and the requests made."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(404 if self.path == "/missing" else 200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/collections"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_an_archive_is_fetched_once(cache):
    content = make_zip(set__corpus="rows")
    with serve(content) as (address, requests):
        download = Download(url=f"{address}/set.zip", sha256=digest(content), folder="set")
        folder = fetch(download)
        assert (folder / "corpus").read_text() == "rows"
        assert fetch(download) == folder == folder_of(download)
        assert requests == ["/set.zip"]
    assert folder.is_relative_to(cache)


def test_a_tar_archive_can_be_loaded_through_a_card(cache, tmp_path):
    content = make_tar("docs/a.md", "# A\n")
    with serve(content) as (address, _):
        location = f"location: {{url: '{address}/a.tgz', sha256: {digest(content)}}}\n"
        card = read_card(write_card(tmp_path / "tiny", MINIMAL + location))
        assert why_unavailable(card) == "downloaded at first use"
        assert (find_data(card) / "docs/a.md").read_text() == "# A\n"
        assert why_unavailable(card) == ""


@pytest.mark.parametrize(
    ("content", "path", "stated", "message"),
    [
        (b"other", "/a.zip", "0" * 64, "SHA-256 is .* the card says 000"),
        (b"text", "/a.zip", None, "cannot be unpacked: .*allowed: .zip"),
        (b"", "/missing", None, "cannot be downloaded: .*404"),
        (make_zip(**{"..__evil": "x"}), "/a.zip", None, "leads outside its folder"),
        (make_tar("../evil", "x"), "/a.tgz", None, "leads outside its folder"),
        (make_link("evil", "/etc/passwd"), "/a.tgz", None, "'evil' .* is neither file nor folder"),
        (make_zip(other="x"), "/a.zip", None, "holds no folder 'set'"),
    ],
    ids=[
        "another",
        "no archive",
        "missing",
        "zip that leaves",
        "tar that leaves",
        "link",
        "no folder",
    ],
)
def test_a_bad_archive_is_refused(cache, content, path, stated, message):
    with serve(content) as (address, _):
        sha256 = stated or digest(content)
        with pytest.raises(AssayError, match=message) as caught:
            fetch(Download(url=address + path, sha256=sha256, folder="set"))
    assert "\n" not in str(caught.value)
    assert not list(cache.parent.rglob("evil"))
    assert not list(cache.glob("*.partial"))


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_an_archive_that_unpacks_to_too_much_is_refused(cache, name):
    text = "0" * 100_000
    content = make_zip(corpus=text) if name == "a.zip" else make_tar("corpus", text)
    with serve(content) as (address, _):
        download = Download(url=f"{address}/{name}", sha256=digest(content), max_bytes=99_999)
        with pytest.raises(AssayError, match=r"more than 99999 bytes; location\.max_bytes"):
            fetch(download)
        assert [path.suffix for path in cache.iterdir()] == [".lock"]
        fetch(download.model_copy(update={"max_bytes": 101_000}))


def test_a_download_that_does_not_end_is_refused(cache):
    with serve(b"0" * 1000) as (address, _):
        download = Download(url=f"{address}/a.zip", sha256="0" * 64, max_bytes=999)
        with pytest.raises(AssayError, match="more than 999 bytes"):
            fetch(download)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_a_host_that_does_not_answer_is_one_line(cache):
    with serve(b"") as (address, _):
        pass
    with pytest.raises(AssayError, match="cannot be downloaded"):
        fetch(Download(url=f"{address}/a.zip", sha256="0" * 64))
    assert not list(cache.glob("*/assay.json"))
