"use strict";
// Texts of documents and queries reach the page as text nodes only, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const details = new Map(data.queries.map((query) => [query.id, query]));
const table = document.getElementById("query-table");
const rows = [...table.tBodies[0].rows];
const filters = document.getElementById("filters");
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

// The table: filters and sorting.

function filter() {
  const text = filters.elements.text.value.trim().toLowerCase();
  const type = filters.elements.type?.value ?? "";
  const bucket = filters.elements.bucket.value;
  let shown = 0;
  for (const row of rows) {
    const fits =
      (!text || row.cells[0].textContent.toLowerCase().includes(text)) &&
      (!type || row.dataset.type === type) &&
      (!bucket || row.dataset.bucket === bucket);
    row.hidden = !fits;
    shown += fits;
  }
  const all = rows.length.toLocaleString("en");
  const part = shown.toLocaleString("en");
  document.getElementById("shown").textContent =
    shown === rows.length ? `${all} queries` : `${part} of ${all} queries`;
}

function sort(header) {
  const column = header.cellIndex;
  const numeric = header.classList.contains("number");
  const direction = header.ariaSort === "ascending" ? "descending" : "ascending";
  for (const other of header.parentElement.cells) other.ariaSort = "none";
  header.ariaSort = direction;
  const value = (row) => row.cells[column].dataset.value;
  const compare = numeric
    ? (a, b) => Number(value(a)) - Number(value(b))
    : (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
  rows.sort((a, b) => (direction === "ascending" ? compare(a, b) : compare(b, a)));
  table.tBodies[0].append(...rows);
}

filters.addEventListener("input", filter);
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(filter));
table.tHead.addEventListener("click", (event) => {
  if (event.target.closest("button")) sort(event.target.closest("th"));
});

// The panel: one query.

function passage(hit, at) {
  const chunk = data.passages[hit.passage];
  const legs = hit.legs.map(([name, rank, score]) => `${name} rank ${rank} (${score})`);
  const grades = hit.grades ?? [];
  const badges = grades.map((grade) => make("span.badge.gold", {}, `gold, grade ${grade}`));
  if (hit.judged === "again") badges.push(make("span.badge", {}, "covers gold counted above"));
  if (hit.judged === "irrelevant") badges.push(make("span.badge", {}, "judged not relevant"));
  const text = hit.pieces
    ? hit.pieces.map((piece, number) => (number % 2 ? make("mark", {}, piece) : piece))
    : [chunk.text ?? ""];
  return make(
    grades.length ? "li.gold" : "li",
    {},
    make("span.rank", { "aria-label": `Rank ${at + 1}` }, String(at + 1)),
    make(
      "div",
      {},
      make("div.source", {}, make("b", { title: `Chunk ${chunk.chunk}` }, chunk.document), badges),
      chunk.title ? make("p.path", { dir: "auto" }, chunk.title) : null,
      chunk.headings ? make("p.path", { dir: "auto" }, chunk.headings.join(" › ")) : null,
      make("p.path", {}, make("span.score", {}, [`score ${hit.score}`, ...legs].join(" · "))),
      chunk.context ? make("p.context", { dir: "auto" }, `Context: ${chunk.context}`) : null,
      make("p.text", { dir: "auto" }, text),
    ),
  );
}

function goldItem(item, number) {
  const place = [item.document, item.place].filter(Boolean).join(", ");
  const found = item.rank ? `found at rank ${item.rank}` : `not in the first ${data.depth}`;
  return make(
    "li",
    {},
    make(
      "div.source",
      {},
      make("b", {}, `Gold ${number + 1}`),
      make("span.badge.gold", {}, `grade ${item.grade}`),
      make(item.rank ? "span" : "span.badge.warn", {}, found),
    ),
    make("p.path", {}, place),
    make("p.text", { dir: "auto" }, item.text),
  );
}

function stageTable(query) {
  const golds = query.stages[0]?.gold.map((_, at) => `Gold ${at + 1}`) ?? [];
  const noted = query.stages.some((stage) => stage.note);
  const head = [
    ["Stage", "Kind"].map((name) => make("th", { scope: "col" }, name)),
    ["ms", "Candidates", ...golds].map((name) => make("th.number", { scope: "col" }, name)),
    noted ? make("th", { scope: "col" }, "Note") : null,
  ];
  const body = query.stages.map((stage) => {
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
    query.ms === null
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

function describe(query) {
  const stats = [
    ...query.scores.map(([name, value]) => make("span", {}, `${name} `, make("b", {}, value))),
    query.ms === null ? null : make("span", {}, make("b", {}, query.ms), " ms"),
    query.type ? make("span", {}, query.type) : null,
    make("span.id", {}, query.id),
  ];
  const rest = [
    query.more_gold ? `${query.more_gold} more gold items are not shown.` : "",
    query.irrelevant ? `Judged not relevant: ${query.irrelevant} more.` : "",
  ].filter(Boolean);
  return [
    make("h2", { id: "panel-title", dir: "auto", tabindex: "-1" }, query.text),
    make("p.stats", {}, stats),
    query.degraded.length ? make("p.warning", {}, `Degraded: ${query.degraded.join("; ")}`) : null,
    make("h3", {}, "Gold"),
    query.gold.length ? make("ol.golds", {}, query.gold.map(goldItem)) : make("p", {}, "Nothing is judged relevant."),
    rest.length ? make("p.note", {}, rest.join(" ")) : null,
    make("h3", {}, "Stages"),
    query.stages.length ? stageTable(query) : make("p", {}, "The retriever gave no trace."),
    make("h3", {}, `First ${query.hits.length} of ${query.retrieved} retrieved passages`),
    query.hits.length ? make("ol.passages", {}, query.hits.map(passage)) : make("p", {}, "Nothing was retrieved."),
  ];
}

/** The ids that the arrows walk: those the table shows, in its order. */
function walk() {
  const ids = rows.filter((row) => !row.hidden).map((row) => row.dataset.id);
  return (ids.includes(current) ? ids : rows.map((row) => row.dataset.id)).filter((id) => details.has(id));
}

function openQuery(id) {
  current = id;
  const query = details.get(id);
  const ids = walk();
  const at = ids.indexOf(id);
  const body = query
    ? describe(query)
    : [make("h2", { id: "panel-title", tabindex: "-1" }, "No details"), make("p", {}, `This page holds none of query ${id}.`)];
  document.getElementById("panel-body").replaceChildren(...body.filter(Boolean).flat());
  document.getElementById("place").textContent = at < 0 ? "" : `${at + 1} of ${ids.length}`;
  previous.disabled = at <= 0;
  next.disabled = at < 0 || at >= ids.length - 1;
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  document.getElementById("panel-title").focus();
  remember(`#query=${encodeURIComponent(id)}`);
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
window.addEventListener("hashchange", openAddressed);
openAddressed();
