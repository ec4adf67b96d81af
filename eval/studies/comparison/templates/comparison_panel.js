// What the panel of a comparison tells of a query: both answers, side by side.

function scoreTable(query) {
  const rows = measures.map(({ name }, at) => {
    const [base, other] = [query.scores[at][0], query.scores[at][state.other + 1]];
    const difference = pair().differences[at][places.get(query.id)];
    const tone = { "+": "td.number.won", "-": "td.number.lost", "=": "td.number.quiet" }[
      pair().outcomes[at][places.get(query.id)]
    ];
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      make("td.number", {}, score(base)),
      make("td.number", {}, score(other)),
      make(tone, {}, signed(difference)),
    );
  });
  const head = ["Measure", ...names(), "Difference"];
  return make(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": "Scores" },
    make(
      "table.scores",
      {},
      make("thead", {}, make("tr", {}, head.map((name, at) => make(at ? "th.number" : "th", { scope: "col" }, name)))),
      make("tbody", {}, rows),
    ),
  );
}

function goldItem(item, number) {
  const statuses = [item.statuses[0], item.statuses[state.other + 1]];
  const told = statuses.map((status, at) =>
    make("div", {}, make("dt", {}, names()[at]), make(status.status === "found" ? "dd" : "dd.missed", {}, status.words)),
  );
  return make(
    "li",
    {},
    make("div.source", {}, make("b", {}, `Gold ${number + 1}`), make("span.badge.gold", {}, `grade ${item.grade}`)),
    make("p.path", {}, [item.document, item.place].filter(Boolean).join(", ")),
    make("dl.status", {}, told),
    make("p.text", { dir: "auto" }, item.text),
  );
}

/** The two answers side by side, each under the name of its pipeline. */
function sides(detail, title, content) {
  const sections = names().map((name, at) => {
    const answer = detail.answers[at && state.other + 1];
    return make("section", {}, make("h4", {}, name), content(answer, at));
  });
  return [make("h3", {}, title), make("div.sides", {}, sections)];
}

function ranking(detail, answer, at) {
  if (!answer.hits.length) return make("p", {}, "Nothing was retrieved.");
  const beside = at ? 0 : state.other + 1;
  const badge = (hit) =>
    hit.ranks[beside]
      ? make("span.badge", {}, `rank ${hit.ranks[beside]} in ${runs[beside]}`)
      : make("span.badge.warn", { title: `Not among the passages of ${runs[beside]}` }, "only here");
  return [
    make("p.note", {}, `First ${answer.hits.length} of ${answer.retrieved} passages`),
    make(
      "ol.passages",
      {},
      answer.hits.map((hit, rank) => passage(hit, rank, detail.marked[hit.passage], [badge(hit)])),
    ),
  ];
}

function describe(id) {
  const query = queries[places.get(id)];
  if (!query?.detail) return null;
  const { detail } = query;
  const degraded = names().flatMap((name, at) =>
    detail.answers[at && state.other + 1].degraded.map((line) => `${name} is degraded: ${line}`),
  );
  const rest = [
    detail.more_gold ? `${detail.more_gold} more correct passages are not shown.` : "",
    detail.irrelevant ? `Judged not relevant: ${detail.irrelevant} more.` : "",
  ].filter(Boolean);
  return [
    make("h2", { id: "panel-title", dir: "auto", tabindex: "-1" }, query.text),
    make("p.stats", {}, query.type ? make("span", {}, query.type) : null, make("span.id", {}, query.id)),
    degraded.length ? make("p.warning", {}, degraded.join("; ")) : null,
    make(
      "div.sides.uneven",
      {},
      make("section", {}, make("h3", {}, "Scores"), scoreTable(query)),
      make(
        "section",
        {},
        make("h3", {}, "Correct passages"),
        detail.gold.length ? make("ol.golds", {}, detail.gold.map(goldItem)) : make("p", {}, "Nothing is judged relevant."),
        rest.length ? make("p.note", {}, rest.join(" ")) : null,
      ),
    ),
    ...sides(detail, "Rankings", (answer, at) => ranking(detail, answer, at)),
    ...sides(detail, "Stages", (answer) =>
      answer.stages.length ? stageTable(answer) : make("p", {}, "The retriever gave no trace."),
    ),
  ];
}
