"use strict";

// The page of moved judgments: old and new side by side. Texts are only ever set as text.

const page = { items: [], position: 0, last: [], busy: true };
const percent = similarity => `${(100 * similarity).toFixed(0)} % alike`;

function fill(parent, parts) {
  parent.replaceChildren();
  for (const part of parts) add(parent, part.same ? "span" : "mark", part.text);
}

function show(position) {
  page.position = position;
  const item = page.items[position];
  at("query").textContent = item.query || item.query_id;
  at("document").textContent = [item.path, ...item.headings].join(" › ");
  at("given").textContent = [item.grade === null ? "" : `grade ${item.grade}`, item.judged_by, item.judged_on]
    .filter(part => part).join(", ");
  fill(at("old"), item.places[0].old);
  at("places").replaceChildren();
  at("choices").replaceChildren();
  item.places.forEach((place, i) => {
    const block = add(at("places"), "div", "");
    add(block, "p", `${i + 1}: ${place.path}, ${percent(place.similarity)}`)
      .className = "source";
    const text = add(block, "div", "");
    text.className = "text passage";
    fill(text, place.parts);
    choice(i + 1, item.places.length > 1 ? `It is ${i + 1}` : "It still answers", item.decision);
  });
  choice(0, "None: it is gone", item.decision);
  const open = page.items.filter(other => other.decision === null).length;
  at("progress").max = page.items.length;
  at("progress").value = page.items.length - open;
  at("count").textContent = `${page.items.length - open} of ${page.items.length} decided`;
  tell(item.decision === null ? "Not decided yet." : `Decided: ${item.decision || "none"}.`);
  window.scrollTo(0, 0);
  at("query").focus({ preventScroll: true });
}

function choice(number, text, decision) {
  const button = add(at("choices"), "button", `${text} (${number})`);
  button.type = "button";
  button.setAttribute("aria-keyshortcuts", number);
  button.setAttribute("aria-pressed", String(decision === number));
  button.addEventListener("click", () => act(() => decide(number)));
}

async function decide(decision) {
  const item = page.items[page.position];
  if (decision > item.places.length) return;
  await ask("/decide", { id: item.id, decision });
  item.decision = decision;
  page.last.push(page.position);
  const next = page.items.findIndex(other => other.decision === null);
  show(next < 0 ? page.position : next);
  if (next < 0) tell("Saved. All are decided: `assay dataset sync` does it.");
}

async function undo() {
  const position = page.last.pop();
  if (position === undefined) return tell("Nothing to undo.");
  await ask("/decide", { id: page.items[position].id, decision: null });
  page.items[position].decision = null;
  show(position);
}

const move = by => show((page.position + by + page.items.length) % page.items.length);
const KEYS = { n: () => move(1), p: () => move(-1), u: undo };

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const deed = /^[0-9]$/.test(event.key) ? () => decide(Number(event.key)) : KEYS[event.key];
  if (!deed) return;
  event.preventDefault();
  act(async () => deed());
});
for (const [id, key] of [["next", "n"], ["previous", "p"], ["undo", "u"]])
  at(id).addEventListener("click", () => act(async () => KEYS[key]()));

document.addEventListener("DOMContentLoaded", () => {
  page.busy = false;
  act(async () => {
    history.replaceState(null, "", "/"); // the token stays in no address
    const state = await ask("/state");
    page.items = state.items;
    at("title").textContent = state.title;
    at("judge").textContent = state.judge;
    const open = page.items.findIndex(item => item.decision === null);
    show(Math.max(open, 0));
  });
});
