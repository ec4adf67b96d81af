"""What documentation is written in gives the text that its pages show."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import Document
from assay.retrievers.base.quotes import Locator
from assay.retrievers.documents.conversion.converter import _convert

WORDS = st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=5, max_size=12)


def read(suffix, text):
    return _convert(suffix, text.encode())["text"]


def finds(text, quote):
    return bool(Locator({"d": Document("d", text, "")}).find(quote))


MDX = """\
---
title: Harbour
---

import Tabs from '@theme/Tabs';
import {
  A,

  B,
} from 'x';
export const list = (x) => {

  return x;
};

# The harbour {#harbour}

Turn it {/* a
comment */} now. Press <B on={() => go()}>Start</B> now{" "}
and `<Keep>` what a < b is.

<Tabs>
  <TabItem value="npm" label="With npm">

    ```jsx
    import x from 'x';

    <Shown />
    ```

  </TabItem>
  <TabItem label={'By hand'}>
    Copy the
    files.
  </TabItem>
</Tabs>

- one

  <Note>Inside the item.</Note>

<div style={{color: 'red'}} className="x">red</div>

import taxes are due at the quay.
"""


def test_mdx_is_what_its_page_shows():
    lines = [line for line in read(".mdx", MDX).splitlines() if line]
    assert lines == [
        "---",
        "title: Harbour",
        "---",
        "# The harbour",
        "Turn it  now. Press Start now",
        "and `<Keep>` what a < b is.",
        "With npm",
        "```jsx",
        "import x from 'x';",
        "<Shown />",
        "```",
        "By hand",
        "Copy the",
        "files.",
        "- one",
        "  Inside the item.",
        '<div className="x">red</div>',
        "import taxes are due at the quay.",
    ]


@given(WORDS, st.data())
def test_words_inside_any_components_are_found(words, data):
    parts = []
    for word in words:
        kind = data.draw(st.sampled_from(["{}", "<B>{}</B>", "<B on={{() => ({{a: 1}})}}>{}</B>"]))
        parts.append(kind.format(word))
    depth = data.draw(st.integers(0, 3))
    text = " ".join(parts)
    for level in range(depth):
        body = "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())
        text = f'<Box{level} title="box {level}">\n{body}</Box{level}>'
    shown = read(".mdx", f"# Page\n\n{text}\n")
    assert " ".join(words) in shown
    assert all(f"box {level}" in shown for level in range(depth))
    assert not any(line.startswith("    ") for line in shown.splitlines())


@given(st.text("ab<>{}/*`\"'= \n\\", max_size=60))
def test_no_mdx_is_too_odd_to_read(text):
    assert "reason" not in _convert(".mdx", f"words first\n\n{text}".encode())


RST = """\
:orphan:

.. _fares:

Fares
=====

See :ref:`fares`, :ref:`the list <x>`, :meth:`~boat.Ferry.go`, :class:`!Boat` and :doc:`/plan`.
Press :menuselection:`&File --> Open`, then :kbd:`Ctrl-C`.

.. versionadded:: 1.2
   Works on *boats*.

.. deprecated:: 1.4

.. code-block:: python
   :caption: To start
   :emphasize-lines: 1

   def __go__(): ...

.. py:function:: go(x, *, y)

   Goes.

.. toctree::

   plan

.. math::
   :label: e

   a_b

.. list-table::
   :header-rows: 1

   * - Line
     - Fare
   * - North|South
     - 10

.. tab-item:: Linux only
   :sync: x

   Tab text.

=== ==
a   bb cc
===  ==
"""


def test_restructured_text_is_what_its_page_shows():
    text = read(".rst", RST)
    for shown in (
        "# Fares",
        "See Fares, the list, `go()`, `Boat` and /plan.",
        "Press File ‣ Open, then `Ctrl-C`.",
        "Added in version 1.2: Works on *boats*.",
        "Deprecated since version 1.4.",
        "To start\n\n```\ndef __go__(): ...\n```",
        "`go(x, *, y)`\n\nGoes.",
        "a_b",
        "| Line | Fare |\n| --- | --- |\n| North\\|South | 10 |",
        "Linux only\n\nTab text.",
        "=== ==\na   bb cc\n===  ==",
    ):
        assert shown in text, shown
    for unseen in ("orphan", "toctree", "emphasize", "sync", "unknown", "Unknown", "plan\n\n"):
        assert unseen not in text, unseen


@given(WORDS, st.data())
def test_words_of_any_role_and_directive_are_found(words, data):
    name = data.draw(st.from_regex(r"[a-z]{3,8}-(?:x|[a-z]{2,4})", fullmatch=True))
    parts = [data.draw(st.sampled_from(["{}", ":{n}:`{}`", "**{}**"])) for _ in words]
    text = " ".join(part.format(word, n=name) for part, word in zip(parts, words, strict=True))
    shape = data.draw(st.sampled_from(["{}", ".. {n}::\n\n   {}", ".. {n}:: {}\n   :option: 1"]))
    assert finds(read(".rst", shape.format(text, n=name) + "\n"), " ".join(words))


def notebook(*cells, **more):
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {}, **more})


def test_a_notebook_is_its_cells():
    printed = {"output_type": "stream", "text": ["1 %\r", "100 %\n"]}
    table = {
        "output_type": "execute_result",
        "data": {"text/html": "<b>", "text/plain": "\x1b[1m5"},
    }
    picture = {
        "output_type": "display_data",
        "data": {"image/png": "iVBO", "text/plain": "<Figure>"},
    }
    failed = {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": []}
    outputs = [printed, table, picture, failed]
    text = read(
        ".ipynb",
        notebook(
            {"cell_type": "markdown", "source": ["# Tides\n", "\n", "High *water*."]},
            {"cell_type": "code", "source": "print('```')\n```\n", "outputs": outputs},
            {"cell_type": "code", "source": "", "outputs": []},
        ),
    )
    assert text == (
        "# Tides\n\nHigh *water*.\n\n````python\nprint('```')\n```\n````\n\n"
        "```\n100 %\n```\n\n```\n5\n```\n\n```\nKeyError: 'x'\n```"
    )
    old = {"cell_type": "heading", "level": 2, "source": "Old"}
    code = {"cell_type": "code", "input": "1 + 1", "outputs": [{"text": "2"}]}
    third = json.dumps({"nbformat": 3, "worksheets": [{"cells": [old, code]}]})
    assert read(".ipynb", third) == "## Old\n\n```python\n1 + 1\n```\n\n```\n2\n```"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".csv", 'Name;Note\r\nNA;"a|b, c"\r\n007;"two\r\nlines"\r\n'),
        (".csv", 'Name,Note\nNA,"a|b, c"\n007,"two\nlines"\n'),
        (".csv", 'sep=|\nName|Note\nNA|"a|b, c"\n007|two lines\n'),
        (".tsv", "Name\tNote\nNA\ta|b, c\n007\ttwo lines\n"),
    ],
)
def test_values_between_delimiters_are_a_table(suffix, text):
    expected = "| Name | Note |\n| --- | --- |\n| NA | a\\|b, c |\n| 007 | two lines |"
    assert read(suffix, text) == expected


@pytest.mark.parametrize(
    ("suffix", "content", "says"),
    [
        *((suffix, b"\0\1\2", "is not text") for suffix in (".csv", ".ipynb", ".mdx", ".rst")),
        *((".ipynb", text, "cannot be converted: ") for text in (b"[1]", b"{}", b"{")),
        (".ipynb", b'{"cells": 3}', "cannot be converted: "),
    ],
)
def test_what_is_no_such_file_is_named(suffix, content, says):
    assert _convert(suffix, content)["reason"].startswith(says)
