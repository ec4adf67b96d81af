"""Files as people have them: formats of office suites, odd encodings, and what cannot be read.

`python tests/samples/reference_documents.py FOLDER` makes the folder that ingestion
is measured on.
"""

import io
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "datasets" / "harbourline" / "docs"
PASSWORD = "mole and bollard"

# (level of a heading or 0, text)
Block = tuple[int, str]


def read_blocks(markdown):
    """Yield headings and paragraphs, without their markup."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.S)):
        marks, text = re.match(r"(#*)\s*(.*)", paragraph.strip(), re.S).groups()
        plain = re.sub(r"[*`|]|^\W+$", "", " ".join(text.split()))
        if plain:
            yield len(marks), plain


def write_pdf(path, blocks, password=None):
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    styles = getSampleStyleSheet()
    names = {0: "BodyText", 1: "Heading1", 2: "Heading2"}
    lock = StandardEncryption(password, ownerPassword="owner") if password else None
    escaped = [(level, text.replace("&", "&amp;").replace("<", "&lt;")) for level, text in blocks]
    flow = [Paragraph(text, styles[names.get(level, "Heading3")]) for level, text in escaped]
    SimpleDocTemplate(str(path), encrypt=lock, invariant=1).build(flow)


def write_docx(path, blocks):
    import docx

    document = docx.Document()
    for level, text in blocks:
        document.add_heading(text, level) if level else document.add_paragraph(text)
    document.save(str(path))


def write_pptx(path, blocks):
    import pptx

    presentation = pptx.Presentation()
    body = None
    for level, text in blocks:
        if level or body is None:
            slide = presentation.slides.add_slide(presentation.slide_layouts[1])
            slide.shapes.title.text = text if level else ""
            body = slide.placeholders[1].text_frame
        if not level:
            body.add_paragraph().text = text
    presentation.save(str(path))


def write_xlsx(path, blocks):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Section", "Text"])
    heading = ""
    for level, text in blocks:
        heading = text if level else heading
        if not level:
            book.active.append([heading, text])
    book.save(path)


def to_html(blocks, title=""):
    tags = [(f"h{level}" if level else "p", text) for level, text in blocks]
    escaped = [(tag, text.replace("&", "&amp;").replace("<", "&lt;")) for tag, text in tags]
    body = "\n".join(f"<{tag}>{text}</{tag}>" for tag, text in escaped)
    head = f"<title>{title}</title><style>p {{}}</style><script>var x = '<p>no</p>'</script>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def write_html(path, blocks):
    path.write_text(to_html(blocks), encoding="utf-8")


def write_epub(path, blocks, title="A book"):
    package = f"""<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier>
<dc:title>{title}</dc:title><dc:language>en</dc:language></metadata>
<manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="c"/></spine></package>"""
    container = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("book.opf", package)
        archive.writestr("c.xhtml", to_html(blocks, title).replace("<!doctype html>", ""))


WRITERS = {
    ".pdf": write_pdf,
    ".docx": write_docx,
    ".html": write_html,
    ".pptx": write_pptx,
    ".xlsx": write_xlsx,
    ".epub": write_epub,
}


def lock_docx(path, blocks):
    from msoffcrypto.format.ooxml import OOXMLFile

    write_docx(path, blocks)
    plain = io.BytesIO(path.read_bytes())
    with path.open("wb") as file:
        OOXMLFile(plain).encrypt(PASSWORD, file)


def write_bomb(path, size):
    """Write a small archive that unpacks to `size` bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(size))


def write_unreadable(folder, blocks):
    """Write files that give no document."""
    from reportlab.pdfgen.canvas import Canvas

    write_pdf(folder / "locked.pdf", blocks, PASSWORD)
    lock_docx(folder / "locked.docx", blocks)
    write_docx(folder / "cut.docx", blocks)
    (folder / "cut.docx").write_bytes((folder / "cut.docx").read_bytes()[:-2000])
    write_pdf(folder / "cut.pdf", blocks)
    (folder / "cut.pdf").write_bytes((folder / "cut.pdf").read_bytes()[:600])
    (folder / "page.pdf").write_text("<html>404 Not Found</html>")
    (folder / "old.docx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2000))
    scan = Canvas(str(folder / "scan.pdf"))
    scan.rect(100, 100, 300, 300, fill=1)
    scan.save()
    with zipfile.ZipFile(folder / "other.docx", "w") as archive:
        archive.writestr("readme", "no document")
    (folder / "empty.md").write_bytes(b"")
    (folder / "blank.txt").write_bytes(b"\xef\xbb\xbf \r\n\t\n")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "Makefile").write_text("all:\n")


def write_odd_texts(folder):
    """Write readable texts that are not plain UTF-8 with short lines."""
    (folder / "windows.txt").write_bytes("Übergepäck kostet “zwölf” €uro.\r\n".encode("cp1252"))
    (folder / "latin.md").write_bytes("# Naïve café\n\nDéjà vu à la crème.\n".encode("latin-1"))
    (folder / "wide.txt").write_bytes("Tide tables, in UTF-16.\n".encode("utf-16"))
    (folder / "marked.md").write_bytes("# Marked\r\n\r\nWith a BOM.\r\n".encode("utf-8-sig"))
    (folder / "line.txt").write_text("word " * 3_000, encoding="utf-8")


def write_folder(folder):
    """Write each document of harbourline in one of the formats, and the files of oddities."""
    folder.mkdir(parents=True)
    blocks = []
    suffixes = list(WRITERS)
    for number, path in enumerate(sorted(DOCS.rglob("*.md"))):
        blocks = list(read_blocks(path.read_text(encoding="utf-8")))
        suffix = suffixes[number % len(suffixes)]
        WRITERS[suffix](folder / f"{path.stem}{suffix}", blocks)
    (folder / "odd").mkdir()
    write_odd_texts(folder / "odd")
    write_unreadable(folder / "odd", blocks)


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]))
