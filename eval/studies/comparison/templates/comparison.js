// The page of a comparison: what is chosen, and the list of queries. It stands last, after
// shared.js, comparison_scatter.js, comparison_panel.js and comparison_grid.js, and starts the page.

const MOST_ROWS = 500;
const { queries, measures, runs } = data;
const places = new Map(queries.map((query, at) => [query.id, at]));
const picker = document.getElementById("picker"); // null where there is one other only
const panelPicker = document.getElementById("panel-other");
const filters = document.getElementById("filters");
const table = document.getElementById("query-table");
// `other` counts from 0; `chosen` are the places of queries picked by a dot or by a cell.
const state = { other: 0, chosen: null, key: "difference", direction: "other" };

const measure = () => Number(filters.elements.measure.value);
const pair = () => data.pairs[state.other];
const names = () => [runs[0], runs[state.other + 1]];

// Numbers and texts.

function score(value) {
  return Math.abs(value) < 10 ? value.toFixed(3) : Math.round(value).toLocaleString("en");
}

function signed(value) {
  const text = score(Math.abs(value));
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
}

function count(number, noun, plural) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

/** One query under the chosen measure and beside the chosen other. */
function row(at) {
  const scores = queries[at].scores[measure()];
  return {
    text: queries[at].text,
    base: scores[0],
    other: scores[state.other + 1],
    difference: pair().differences[measure()][at],
    outcome: pair().outcomes[measure()][at],
  };
}

// The list of queries.

function fits(at) {
  const { text, type, outcome } = filters.elements;
  const wanted = text.value.trim().toLowerCase();
  const query = queries[at];
  return (
    (!state.chosen || state.chosen.has(at)) &&
    (!wanted || `${query.text} ${query.id}`.toLowerCase().includes(wanted)) &&
    (!type?.value || query.type === type.value) &&
    (!outcome.value || row(at).outcome === outcome.value)
  );
}

/** The places of the queries that the filters let through, in the order of the table. */
function list() {
  const rows = new Map(queries.map((_, at) => [at, row(at)]));
  const { key, direction } = state;
  const compare = {
    ascending: (a, b) => a - b,
    descending: (a, b) => b - a,
    other: (a, b) => Math.abs(b) - Math.abs(a),
  }[direction];
  const inWords = (a, b) => a.localeCompare(b, "en", { numeric: true }) * (direction === "ascending" ? 1 : -1);
  const order = key === "text" ? inWords : compare;
  return [...rows.keys()].filter(fits).sort((a, b) => order(rows.get(a)[key], rows.get(b)[key]));
}

function bar(difference, largest) {
  const half = (50 * Math.abs(difference)) / largest;
  return draw(
    "svg.gain",
    { height: 6, "aria-hidden": "true" },
    draw("line.zero", { x1: "50%", x2: "50%", y1: 0, y2: 6 }),
    draw(difference < 0 ? "rect.lost" : "rect.won", {
      x: `${difference < 0 ? 50 - half : 50}%`,
      width: `${half}%`,
      height: 6,
    }),
  );
}

function tableRow(at, largest) {
  const query = queries[at];
  const { base, other, difference, outcome } = row(at);
  const tone = { "+": "td.number.won", "-": "td.number.lost", "=": "td.number.quiet" }[outcome];
  return make(
    "tr",
    { "data-id": query.id },
    make(
      "td",
      {},
      make("a", { href: addressOf(query.id), "data-query": query.id, dir: "auto" }, query.text || query.id),
      make("small.under", {}, make("span.id", {}, query.id), query.type ? ` ${query.type}` : ""),
      make("small.narrow", {}, `${score(base)} → ${score(other)}`),
    ),
    make("td.number.broad", {}, score(base)),
    make("td.number.broad", {}, score(other)),
    make(tone, {}, signed(difference), bar(difference, largest)),
  );
}

function showTable() {
  const found = list();
  const shown = found.slice(0, MOST_ROWS);
  const largest = Math.max(1e-9, ...pair().differences[measure()].map(Math.abs));
  table.tBodies[0].replaceChildren(...shown.map((at) => tableRow(at, largest)));
  for (const header of table.tHead.rows[0].cells) {
    header.ariaSort = header.dataset.key === state.key ? state.direction : "none";
  }
  const tally = ["+", "=", "-"].map((sign) => found.filter((at) => row(at).outcome === sign).length);
  const all = count(queries.length, "query", "queries");
  const part = found.length < queries.length ? `${found.length.toLocaleString("en")} of ${all}` : all;
  const first = shown.length < found.length ? `; the first ${MOST_ROWS} are listed` : "";
  document.getElementById("shown").textContent =
    `${part}: ${tally[0]} won, ${tally[1]} tied, ${tally[2]} lost${first}`;
}

function sortBy(key) {
  const cycles = {
    difference: ["other", "descending", "ascending"],
    base: ["descending", "ascending"],
    other: ["descending", "ascending"],
    text: ["ascending", "descending"],
  };
  const cycle = cycles[key];
  state.direction = key === state.key ? cycle[(cycle.indexOf(state.direction) + 1) % cycle.length] : cycle[0];
  state.key = key;
  showTable();
}

/** Narrows the list to the queries at `found`, for a reason put in words; to all without. */
function choose(found, reason) {
  state.chosen = found && new Set(found);
  const line = document.getElementById("chosen");
  line.hidden = !found;
  line.querySelector("span").textContent = reason ?? "";
  refresh();
  // What had the focus may be drawn anew or hidden now.
  if (found) line.querySelector("button").focus({ preventScroll: true });
}

// What the panel asks of the page.

/** The ids that the arrows walk: those that the filters let through, in the order of the table. */
function walk() {
  const detailed = (at) => queries[at].detail;
  const ids = list().filter(detailed).map((at) => queries[at].id);
  return ids.includes(current) ? ids : queries.filter((query) => query.detail).map((query) => query.id);
}

function addressOf(id) {
  const other = data.pairs.length > 1 ? `&other=${state.other}` : "";
  return `#query=${encodeURIComponent(id)}${other}`;
}

// The page.

function refresh() {
  showScatter();
  showTable();
  showGrid();
}

function showOther(other) {
  state.other = other;
  state.chosen = null;
  for (const block of document.querySelectorAll("[data-pair]")) {
    block.hidden = Number(block.dataset.pair) !== other;
  }
  if (picker) picker.elements.other.value = panelPicker.value = String(other);
  document.getElementById("other-name").textContent = runs[other + 1];
  choose(null);
}

function follow() {
  const other = new URLSearchParams(location.hash.slice(1)).get("other");
  if (data.pairs[other]) showOther(Number(other));
  openAddressed();
}

filters.addEventListener("input", refresh);
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(() => choose(null)));
document.querySelector("#chosen button").addEventListener("click", () => {
  choose(null);
  filters.elements.text.focus({ preventScroll: true });
});
table.tHead.addEventListener("click", (event) => {
  if (event.target.closest("button")) sortBy(event.target.closest("th").dataset.key);
});
document.getElementById("gold").addEventListener("click", (event) => {
  const { move } = event.target.closest("button")?.dataset ?? {};
  if (!move) return;
  choose(pair().moves[move], `Gold items: ${move}`);
  document.getElementById("queries").scrollIntoView();
});
picker?.addEventListener("change", (event) => showOther(Number(event.target.value)));
panelPicker?.addEventListener("change", () => {
  const id = current;
  showOther(Number(panelPicker.value));
  openQuery(id);
});
window.addEventListener("hashchange", follow);
showOther(0);
follow();
