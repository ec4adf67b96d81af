// The grid of a comparison: of each question the first hit of every pipeline, and whether it was
// right. A question is won or lost between the base and the pipeline that is shown beside it.

const GRID_ROWS = 500;
const WORTH = [
  ["✓", "right"],
  ["✗", "wrong"],
  ["✗", "not judged"],
  ["–", "nothing found"],
];
const grid = document.getElementById("grid-table");
const gridFilters = document.getElementById("grid-filters");

/** What became of a question: "won", "lost", "missed" by both or "right" in both. */
function fate(at) {
  const [base, other] = [0, state.other + 1].map((run) => queries[at].first[run][0] === 0);
  if (base === other) return base ? "right" : "missed";
  return other ? "won" : "lost";
}

function gridCell(worth, first, name) {
  const [mark, word] = WORTH[worth];
  const [document_, text] = data.firsts[first] ?? ["", ""];
  return make(
    worth ? "td.missed" : "td.right",
    { "data-run": name },
    make("span.worth", {}, make("span", { "aria-hidden": "true" }, mark), ` ${word}`),
    document_ ? make("small.path", { dir: "auto" }, document_) : null,
    text ? make("p.text", { dir: "auto" }, text) : null,
  );
}

function gridRow(at) {
  const query = queries[at];
  const text = query.text || query.id;
  const link = { href: addressOf(query.id), "data-query": query.id, dir: "auto" };
  return make(
    "tr",
    {},
    make(
      "th",
      { scope: "row" },
      query.detail ? make("a", link, text) : make("span", { dir: "auto" }, text),
      make("small.under", {}, make("span.id", {}, query.id), query.type ? ` ${query.type}` : ""),
    ),
    query.first.map(([worth, first], run) => gridCell(worth, first, runs[run])),
  );
}

function showGrid() {
  const held = queries.map((_, at) => at).filter((at) => queries[at].first);
  const { fate: chosen, text } = gridFilters.elements;
  const fates = new Map(held.map((at) => [at, fate(at)]));
  for (const option of chosen.options) {
    const number = option.value ? [...fates.values()].filter((one) => one === option.value).length : held.length;
    option.textContent = `${option.dataset.words} (${number.toLocaleString("en")})`;
  }
  const wanted = text.value.trim().toLowerCase();
  const found = held.filter(
    (at) =>
      (!chosen.value || fates.get(at) === chosen.value) &&
      (!wanted || `${queries[at].text} ${queries[at].id}`.toLowerCase().includes(wanted)),
  );
  grid.tBodies[0].replaceChildren(...found.slice(0, GRID_ROWS).map(gridRow));
  const first = found.length > GRID_ROWS ? `; the first ${GRID_ROWS} are listed` : "";
  const [base, other] = names();
  document.getElementById("grid-shown").textContent =
    `${count(found.length, "question", "questions")}${first}. Won: the first hit of ${other} is right, ` +
    `that of ${base} is not.`;
}

gridFilters.addEventListener("input", showGrid);
gridFilters.addEventListener("submit", (event) => event.preventDefault());
gridFilters.addEventListener("reset", () => setTimeout(showGrid));
