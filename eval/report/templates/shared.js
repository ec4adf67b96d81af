"use strict";
// What the pages of a run and of a comparison share. Texts of documents and queries reach a page
// as text nodes only, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const panel = document.getElementById("panel");
const [previous, next] = ["previous", "next"].map((id) => document.getElementById(id));
let current = null;

/** An element: `tag.class`, attributes, children (elements or texts; empty ones left out). */
function make(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(2).filter((child) => child !== null && child !== ""));
  return element;
}

/** A retrieved passage; `pieces` are its parts around gold, and `badges` further remarks. */
function passage(hit, at, pieces, badges = []) {
  const chunk = data.passages[hit.passage];
  const legs = hit.legs.map(([name, rank, score]) => `${name} rank ${rank} (${score})`);
  const grades = hit.grades ?? [];
  const remarks = grades.map((grade) => make("span.badge.gold", {}, `gold, grade ${grade}`));
  if (hit.judged === "again") remarks.push(make("span.badge", {}, "covers gold counted above"));
  if (hit.judged === "irrelevant") remarks.push(make("span.badge", {}, "judged not relevant"));
  const text = pieces
    ? pieces.map((piece, number) => (number % 2 ? make("mark", {}, piece) : piece))
    : [chunk.text ?? ""];
  return make(
    grades.length ? "li.gold" : "li",
    {},
    make("span.rank", { "aria-label": `Rank ${at + 1}` }, String(at + 1)),
    make(
      "div",
      {},
      make("div.source", {}, make("b", { title: `Chunk ${chunk.chunk}` }, chunk.document), remarks, badges),
      chunk.title ? make("p.path", { dir: "auto" }, chunk.title) : null,
      chunk.headings ? make("p.path", { dir: "auto" }, chunk.headings.join(" › ")) : null,
      make("p.path", {}, make("span.score", {}, [`score ${hit.score}`, ...legs].join(" · "))),
      chunk.context ? make("p.context", { dir: "auto" }, `Context: ${chunk.context}`) : null,
      make("p.text", { dir: "auto" }, text),
    ),
  );
}

function stageTable(answer) {
  const golds = answer.stages[0]?.gold.map((_, at) => `Gold ${at + 1}`) ?? [];
  const noted = answer.stages.some((stage) => stage.note);
  const head = [
    ["Stage", "Kind"].map((name) => make("th", { scope: "col" }, name)),
    ["ms", "Candidates", ...golds].map((name) => make("th.number", { scope: "col" }, name)),
    noted ? make("th", { scope: "col" }, "Note") : null,
  ];
  const body = answer.stages.map((stage) => {
    const ranks = stage.gold.map((rank) => rank ?? "–");
    const listed = stage.kind === "query" ? ["", ...ranks.map(() => "")] : [stage.candidates, ...ranks];
    const numbers = [stage.ms, ...listed];
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, stage.name),
      make("td.quiet", {}, stage.kind),
      numbers.map((number) => make("td.number", {}, String(number))),
      noted ? make("td", {}, stage.note) : null,
    );
  });
  const notes = [
    answer.ms === null
      ? "Times are those of the ranking itself: this query was not among those timed, caches may have helped."
      : "Times are those of the latency measurement.",
    golds.length ? "Gold columns give the rank of the first candidate that covers the item; a dash: none does." : "",
  ];
  return [
    make(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": "Trace of the stages" },
      make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)),
    ),
    make("p.note", {}, notes.filter(Boolean).join(" ")),
  ];
}

// The panel: one query. Each page has a `describe` of its own, which gives the elements to show or
// null for a query it knows nothing of; a `walk`, the ids that the arrows step through; and an
// `addressOf`, the address that opens a query.

function openQuery(id) {
  current = id;
  const ids = walk();
  const at = ids.indexOf(id);
  const body = describe(id) ?? [
    make("h2", { id: "panel-title", tabindex: "-1" }, "No details"),
    make("p", {}, `This page holds none of query ${id}.`),
  ];
  document.getElementById("panel-body").replaceChildren(...body.filter(Boolean).flat());
  document.getElementById("place").textContent = at < 0 ? "" : `${at + 1} of ${ids.length}`;
  previous.disabled = at <= 0;
  next.disabled = at < 0 || at >= ids.length - 1;
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  document.getElementById("panel-title").focus();
  remember(addressOf(id));
}

function step(by) {
  const ids = walk();
  const id = ids[ids.indexOf(current) + by];
  if (id !== undefined) openQuery(id);
}

/** Keeps the address in step, so that it can be sent to someone. */
function remember(hash) {
  try {
    history.replaceState(null, "", hash);
  } catch {
    // Inside a frame without an address of its own there is nothing to keep.
  }
}

function openAddressed() {
  const id = new URLSearchParams(location.hash.slice(1)).get("query");
  if (id !== null) openQuery(id);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-query]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openQuery(link.dataset.query);
});
document.getElementById("close").addEventListener("click", () => panel.close());
previous.addEventListener("click", () => step(-1));
next.addEventListener("click", () => step(1));
panel.addEventListener("click", (event) => {
  if (event.target === panel) panel.close(); // the backdrop
});
panel.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".scroll")) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
panel.addEventListener("close", () => remember("#queries"));
