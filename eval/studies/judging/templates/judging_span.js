"use strict";

// The span that answers: by the mouse as selected, by keyboard sentence after sentence.
const span = {
  range: null, // UTF-16 units of the passage
  before: null, // the range that stood when the walk through sentences began
  sentences: [], // where each begins and ends, while they are walked
  first: 0,
  last: 0,

  // Offsets of the server count code points.
  get() {
    return span.range && span.range.map(unit => [...page.pair.text.slice(0, unit)].length);
  },
  set(points) {
    const units = [...page.pair.text];
    span.sentences = [];
    span.draw(points && points.map(point => units.slice(0, point).join("").length));
  },
  draw(range) {
    span.range = range;
    at("unmark").hidden = range === null;
    showMarkdown(at("passage"), page.pair.text, range);
  },
  // A span that changes under a grade is saved with it at once.
  async keep(text) {
    if (page.pair.grade > 0 && !page.settling) await send(page.pair.grade);
    tell(text);
  },
  async begin() {
    if (!page.state.spans) return;
    const selected = span.read();
    if (selected) {
      span.sentences = [];
      span.draw(selected);
      getSelection().removeAllRanges();
      return span.keep("Span marked. Now give its grade.");
    }
    if (!span.sentences.length) span.before = span.range;
    const cut = new Intl.Segmenter(undefined, { granularity: "sentence" });
    span.sentences = [...cut.segment(page.pair.text)]
      .filter(one => one.segment.trim())
      .map(one => [one.index, one.index + one.segment.trimEnd().length]);
    span.first = span.last = 0;
    span.follow();
  },
  read() {
    const chosen = getSelection();
    if (!chosen.rangeCount || chosen.isCollapsed) return null;
    const range = chosen.getRangeAt(0), box = at("passage");
    if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.setStart(box, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const start = before.toString().length;
    const text = range.toString();
    return text.trim() ? [start, start + text.length] : null;
  },
  follow() {
    span.draw([span.sentences[span.first][0], span.sentences[span.last][1]]);
    at("passage").querySelector("mark").scrollIntoView({ block: "nearest" });
    tell("Arrows choose the sentence, with Shift more of them; Enter keeps, Esc drops. " +
      at("passage").querySelector("mark").textContent);
  },
  clear() {
    span.sentences = [];
    span.draw(null);
    return span.keep("The whole passage is judged.");
  },
  // Whether a key was one for walking sentences.
  steer(event) {
    if (!span.sentences.length || page.busy) return false;
    const forward = ["ArrowDown", "ArrowRight"].includes(event.key);
    if (forward || ["ArrowUp", "ArrowLeft"].includes(event.key)) {
      span.last = Math.min(Math.max(span.last + (forward ? 1 : -1), 0), span.sentences.length - 1);
      span.first = event.shiftKey ? Math.min(span.first, span.last) : span.last;
      span.follow();
    } else if (event.key === "Enter") {
      span.sentences = [];
      act(() => span.keep("Span marked. Now give its grade."));
    } else if (event.key === "Escape") {
      span.sentences = [];
      span.draw(span.before);
      tell("Dropped.");
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  },
};
