// The page of all runs: filters and sorting.

const table = document.getElementById("run-table");
const rows = [...table.tBodies[0].rows];
const filters = document.getElementById("filters");

function filter() {
  const text = filters.elements.text.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    const said = `${row.dataset.id} ${[...row.cells].map((cell) => cell.dataset.value).join(" ")}`;
    row.hidden = !said.toLowerCase().includes(text);
    shown += !row.hidden;
  }
  const [part, all] = [shown, rows.length].map((number) => number.toLocaleString("en"));
  document.getElementById("shown").textContent = `${part} of ${all} runs`;
}

function sort(header) {
  const numeric = header.classList.contains("number");
  const direction = header.ariaSort === "descending" ? "ascending" : "descending";
  for (const other of header.parentElement.cells) other.ariaSort = "none";
  header.ariaSort = direction;
  const value = (row) => row.cells[header.cellIndex].dataset.value;
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
