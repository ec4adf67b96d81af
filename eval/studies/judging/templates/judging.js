"use strict";

// The page of `assay label --serve`. Texts of documents are only ever set as text.

const page = { state: null, pair: null, settling: false, busy: true };
const number = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

function count(graded) {
  page.state.graded = graded;
  const total = page.state.order.length;
  at("progress").max = total;
  at("progress").value = graded.length;
  at("count").textContent = `${graded.length} of ${total} judged`;
}

async function show(id) {
  await note.saved;
  page.pair = await ask(`/pair?id=${encodeURIComponent(id)}`);
  const pair = page.pair;
  at("query").textContent = pair.query;
  at("heading").textContent = pair.title;
  at("document").textContent = pair.document;
  showMarkdown(at("before"), pair.before);
  showMarkdown(at("after"), pair.after);
  for (const [name, text] of [["before", pair.before], ["after", pair.after]])
    at(name).hidden = !text.trim();
  at("before").scrollTop = at("before").scrollHeight; // what stands next to the passage
  at("after").scrollTop = 0;
  at("note").value = pair.note;
  at("deciding").hidden = !page.settling;
  span.set(pair.span);
  press(page.settling ? null : pair.grade);
  const place = page.state.order.indexOf(id) + 1;
  tell(`Pair ${place} of ${page.state.order.length}. ` +
    (pair.grade === null ? "Not judged yet." : `Your grade: ${pair.grade}.`));
  window.scrollTo(0, 0);
  at("query").focus({ preventScroll: true });
}

function press(grade) {
  for (const button of at("grades").children)
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
}

function step(by) {
  const order = page.state.order;
  return order[(order.indexOf(page.pair.id) + by + order.length) % order.length];
}

function nextOpen() {
  const graded = new Set(page.state.graded);
  const order = page.state.order;
  const here = order.indexOf(page.pair.id);
  return [...order.slice(here + 1), ...order.slice(0, here)].find(id => !graded.has(id));
}

async function send(grade) {
  const found = await ask("/grade",
    { pair: page.pair.id, grade, span: grade ? span.get() : null, settles: page.settling });
  count(found.graded);
  if (!page.settling) page.pair.grade = grade;
  press(grade);
}

async function give(grade) {
  const settled = page.settling;
  await send(grade);
  page.settling = false;
  if (settled) {
    await show(page.pair.id);
    tell(`Settled: ${grade}.`);
    return openPanel();
  }
  const next = nextOpen();
  if (next === undefined) {
    tell(`Saved: ${grade}. All pairs are judged.`);
  } else {
    await show(next);
    tell(`Saved: ${grade}. ${at("told").textContent}`);
  }
}

async function undo() {
  const found = await ask("/undo", {});
  count(found.graded);
  page.settling = false;
  if (page.state.order.includes(found.pair)) await show(found.pair);
  tell(found.pair === null ? "Nothing to undo." : "Undone.");
}

// Every keystroke of a note is saved; of several that wait, the last is enough.
const note = {
  saved: Promise.resolve(),
  waiting: null,
  keep() {
    const first = note.waiting === null;
    note.waiting = { pair: page.pair.id, note: at("note").value };
    at("noted").textContent = "Saving…";
    if (first) note.saved = note.saved.then(note.write);
  },
  async write() {
    const given = note.waiting;
    note.waiting = null;
    try {
      await ask("/note", given);
      if (note.waiting === null) at("noted").textContent = "Note saved. Esc leaves it.";
    } catch (error) {
      at("noted").textContent = "The note is not saved.";
      at("alert").textContent = error.message;
      at("alert").hidden = false;
    }
  },
};

async function openPanel() {
  const found = await ask("/agreement");
  at("judges").replaceChildren();
  at("disagreements").replaceChildren();
  for (const one of found.judges) {
    const line = add(at("judges"), "tr", "");
    add(line, "th", one.judge).scope = "row";
    add(line, "td", one.n);
    add(line, "td", `${(100 * one.same).toFixed(0)} %`);
    for (const kappa of [one.kappa, one.weighted])
      add(line, "td", kappa === null ? "–" : number.format(kappa).replace("-", "−"));
  }
  for (const one of found.disagreements) {
    const grades = Object.entries(one.grades).map(([judge, grade]) => `${judge} ${grade}`).join(", ");
    const button = add(add(at("disagreements"), "li", ""), "button",
      `${one.query} (${one.document}): ${grades}` +
      (one.settled === null ? "" : `; settled as ${one.settled}`));
    button.type = "button";
    button.addEventListener("click", () => act(async () => {
      page.settling = true;
      at("deciding").textContent = `${grades}. The grade you give now settles it.`;
      at("panel").close();
      await show(one.pair);
    }));
  }
  at("alone").hidden = found.judges.length > 0;
  at("agreed").hidden = found.disagreements.length > 0;
  if (!at("panel").open) at("panel").showModal();
  at("panel-title").focus();
}

function move(by) {
  page.settling = false;
  return show(step(by));
}

const KEYS = {
  n: () => move(1), p: () => move(-1), u: undo, d: openPanel,
  s: () => span.begin(), x: () => span.clear(), c: () => at("note").focus(),
};

document.addEventListener("keydown", event => {
  if (at("panel").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("note")) {
    if (event.key === "Escape") at("query").focus();
    return;
  }
  if (span.steer(event)) return;
  const grade = /^[0-9]$/.test(event.key) ? Number(event.key) : -1;
  const deed = grade < 0 ? KEYS[event.key]
    : grade <= page.state?.highest ? () => give(grade) : undefined;
  if (!deed || event.repeat) return;
  event.preventDefault();
  act(async () => deed());
});
for (const [id, key] of [["next", "n"], ["previous", "p"], ["undo", "u"], ["agree", "d"],
  ["mark", "s"], ["unmark", "x"]])
  at(id).addEventListener("click", () => act(async () => KEYS[key]()));
at("note").addEventListener("input", note.keep);
at("close").addEventListener("click", () => at("panel").close());

/** What a grade means on a scale up to `highest`; "" within a scale of more than four grades. */
function tellGrade(grade, highest) {
  if (!grade) return "not relevant";
  if (grade === highest) return highest === 1 ? "relevant" : "fully relevant";
  return { 2: ["partly relevant"], 3: ["partly relevant", "mostly relevant"] }[highest]?.[grade - 1] ?? "";
}

async function start() {
  history.replaceState(null, "", "/"); // the token stays in no address
  page.state = await ask("/state");
  const state = page.state;
  document.title = `Judging ${state.title}`;
  at("title").textContent = state.title;
  at("judge").textContent = state.judge;
  at("guidelines").textContent = state.guidelines;
  at("mark").hidden = !state.spans;
  for (let grade = 0; grade <= state.highest; grade++) {
    const button = add(at("grades"), "button", `${grade} ${tellGrade(grade, state.highest)}`.trim());
    button.type = "button";
    button.dataset.grade = grade;
    button.ariaLabel = `Grade ${grade} of ${state.highest}, ${tellGrade(grade, state.highest)}`
      .replace(/, $/, "");
    button.setAttribute("aria-keyshortcuts", grade);
    button.addEventListener("click", () => act(() => give(grade)));
  }
  count(state.graded);
  const graded = new Set(state.graded);
  await show(state.order.find(id => !graded.has(id)) ?? state.order[0]);
}

document.addEventListener("DOMContentLoaded", () => {
  page.busy = false;
  act(start);
});
