// The scatter of a comparison: a dot for the queries that share a point.

const LONGEST_LABEL = 24;
const scatter = document.getElementById("scatter");
const told = document.getElementById("told");

/** An element of SVG; `kind`, attributes and children as for `make`. */
function draw(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

function cut(text) {
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
}

function tell(dot) {
  const [base, other] = names();
  const values = `${base} ${dot.base}, ${other} ${dot.other} (${signed(dot.gain)})`;
  return dot.queries.length === 1
    ? `${values}: ${queries[dot.queries[0]].text}`
    : `${values}: ${count(dot.queries.length, "query", "queries")}`;
}

function activate(dot) {
  if (dot.queries.length === 1) openQuery(queries[dot.queries[0]].id);
  else {
    choose(dot.queries, `${count(dot.queries.length, "query", "queries")} from ${dot.base} to ${dot.other}`);
    document.getElementById("chosen").scrollIntoView({ block: "nearest" });
  }
}

function circle(dot) {
  const tone = { "+": "won", "-": "lost", "=": "tied" }[dot.outcome];
  const shape = draw(`circle.${tone}`, {
    cx: `${dot.x}%`,
    cy: `${dot.y}%`,
    r: dot.radius,
    role: "button",
    tabindex: -1,
    "aria-label": tell(dot),
  });
  shape.classList.toggle("out", !dot.queries.some(fits));
  shape.addEventListener("click", () => activate(dot));
  for (const event of ["pointerenter", "focus"]) {
    shape.addEventListener(event, () => (told.textContent = tell(dot)));
  }
  return shape;
}

function showScatter() {
  const { ticks, name } = measures[measure()];
  const { dots, step } = pair().scatter[measure()];
  const [base, other] = names();
  // The large ones lie below, so that none hides another; the arrows walk from loss to gain.
  const shapes = dots.map(circle);
  const drawn = [...shapes].sort((a, b) => b.getAttribute("r") - a.getAttribute("r"));
  const label = `${name} of each query, ${base} against ${other}: a dot for each point; arrow keys walk the dots`;
  const grid = ticks.map(([at, text]) => [
    draw("line.grid", { x1: `${at}%`, x2: `${at}%`, y1: "0%", y2: "100%" }),
    draw("line.grid", { x1: "0%", x2: "100%", y1: `${at}%`, y2: `${at}%` }),
    draw("text", { x: `${at}%`, y: "100%", dy: 22, "text-anchor": "middle" }, text),
    draw("text", { x: "0%", y: `${100 - at}%`, dx: -12, dy: 4, "text-anchor": "end" }, text),
  ]);
  const svg = draw(
    "svg.plot",
    { role: "group", "aria-label": label },
    grid.flat(),
    draw("line.zero", { x1: "0%", x2: "100%", y1: "100%", y2: "0%" }),
    draw("text.corner", { x: "1%", y: "0%", dy: 14 }, `${cut(other)} better`),
    draw("text.corner", { x: "99%", y: "100%", dy: -7, "text-anchor": "end" }, `${cut(base)} better`),
    drawn,
  );
  shapes[0]?.setAttribute("tabindex", 0);
  svg.addEventListener("keydown", (event) => walkDots(event, shapes));
  scatter.replaceChildren(svg);
  told.textContent = "Point at a dot, or walk the dots with Tab and the arrow keys.";
  document.getElementById("scatter-title").textContent = `${name}: ${other} upwards, ${base} to the right`;
  document.getElementById("scatter-note").textContent =
    `Queries within ${step} of one another share a dot; its area grows with their number. ` +
    "A dot of one query opens it, one of several lists them.";
}

/** One stop for Tab; the arrows go from the greatest loss to the greatest gain. */
function walkDots(event, shapes) {
  const at = shapes.indexOf(event.target);
  const next = {
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    Home: 0,
    End: shapes.length - 1,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") event.target.dispatchEvent(new MouseEvent("click"));
  else if (next === undefined) return;
  else if (shapes[next]) {
    event.target.setAttribute("tabindex", -1);
    shapes[next].setAttribute("tabindex", 0);
    shapes[next].focus();
  }
  event.preventDefault();
}
