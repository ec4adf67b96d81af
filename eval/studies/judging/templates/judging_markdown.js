"use strict";

// Markdown shown by what it means. Each character stays, so that the offsets of spans hold.

const BLOCK = /^ {0,3}(```|~~~|\||#{1,6}\s)/;
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|!?\[[^\]\n]*\]\([^)\s]*\))/;
const KINDS = { "*": "strong", "`": "code", "[": "link", "!": "link" };

/** Yields [text, kind] in order, kind "" for what is plain. */
function* readMarkdown(text) {
  let fence = "";
  for (const line of text.split(/(?<=\n)/)) {
    const block = BLOCK.exec(line)?.[1].trim() ?? "";
    const fences = block === "```" || block === "~~~";
    if (fence || fences || block === "|") yield [line, "code"];
    else if (block) yield [line, "heading"];
    else for (const part of line.split(INLINE)) yield [part, INLINE.test(part) ? KINDS[part[0]] : ""];
    if (fences && (!fence || fence === block)) fence = fence ? "" : block;
  }
}

/** Shows `text` in `box`, the characters of `range`, in UTF-16 units, in a mark. */
function showMarkdown(box, text, range = null) {
  const [from, to] = range ?? [text.length, text.length];
  const mark = document.createElement("mark");
  const parts = [[box, 0, from], [mark, from, to], [box, to, text.length]];
  const pieces = [...readMarkdown(text)];
  box.replaceChildren();
  for (const [parent, start, end] of parts) {
    if (parent === mark && range) box.append(mark);
    let place = 0;
    for (const [piece, kind] of pieces) {
      const shown = piece.slice(Math.max(start - place, 0), Math.max(end - place, 0));
      place += piece.length;
      if (!shown) continue;
      if (kind) add(parent, "span", shown).className = kind;
      else parent.append(shown);
    }
    parent.normalize();
  }
}
