// The page of a run; shared.js comes before it.

const details = new Map(data.queries.map((query) => [query.id, query]));
const table = document.getElementById("query-table");
const rows = [...table.tBodies[0].rows];
const filters = document.getElementById("filters");

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

// What the panel tells of a query.

function goldItem(item, number) {
  const place = [item.document, item.place].filter(Boolean).join(", ");
  return make(
    "li",
    {},
    make(
      "div.source",
      {},
      make("b", {}, `Gold ${number + 1}`),
      make("span.badge.gold", {}, `grade ${item.grade}`),
      make(item.lost ? "span.badge.warn" : "span", {}, item.status),
    ),
    make("p.path", {}, place),
    make("p.path.trail", { title: "Rank at each step; a dash: not in its list" }, item.trail),
    make("p.text", { dir: "auto" }, item.text),
  );
}

function describe(id) {
  const query = details.get(id);
  if (!query) return null;
  const stats = [
    ...query.scores.map(([name, value]) => make("span", {}, `${name} `, make("b", {}, value))),
    query.ms === null ? null : make("span", {}, make("b", {}, query.ms), " ms"),
    query.type ? make("span", {}, query.type) : null,
    make("span.id", {}, query.id),
  ];
  const rest = [
    query.more_gold ? `${query.more_gold} more correct passages are not shown.` : "",
    query.irrelevant ? `Judged not relevant: ${query.irrelevant} more.` : "",
  ].filter(Boolean);
  return [
    make("h2", { id: "panel-title", dir: "auto", tabindex: "-1" }, query.text),
    make("p.stats", {}, stats),
    query.degraded.length ? make("p.warning", {}, `Degraded: ${query.degraded.join("; ")}`) : null,
    query.answer ? make("h3", {}, "Answer of the language model") : null,
    query.answer ? make("p.text", { dir: "auto" }, query.answer.text) : null,
    query.answer ? make("p.note", {}, [query.answer.said, `${query.answer.cited} chunks cited`].filter(Boolean).join("; ")) : null,
    make("h3", {}, "Correct passages"),
    query.gold.length ? make("ol.golds", {}, query.gold.map(goldItem)) : make("p", {}, "Nothing is judged relevant."),
    rest.length ? make("p.note", {}, rest.join(" ")) : null,
    make("h3", {}, "Stages"),
    query.stages.length ? stageTable(query) : make("p", {}, "The retriever gave no trace."),
    make("h3", {}, `First ${query.hits.length} of ${query.retrieved} retrieved passages`),
    query.hits.length
      ? make("ol.passages", {}, query.hits.map((hit, at) => passage(hit, at, hit.pieces)))
      : make("p", {}, "Nothing was retrieved."),
  ];
}

/** The ids that the arrows walk: those the table shows, in its order. */
function walk() {
  const ids = rows.filter((row) => !row.hidden).map((row) => row.dataset.id);
  return (ids.includes(current) ? ids : rows.map((row) => row.dataset.id)).filter((id) => details.has(id));
}

function addressOf(id) {
  return `#query=${encodeURIComponent(id)}`;
}

window.addEventListener("hashchange", openAddressed);
openAddressed();
