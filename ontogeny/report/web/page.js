// The table, and each claim's pictures.
"use strict";
const page = {};
const $ = (id) => document.getElementById(id);

// ------------------------------------------------------------------------------- light and dark

page.theme = (dark) => {
  document.documentElement.classList.toggle("dark", dark);
  charts.redraw();
};
const remembered = () => { try { return localStorage.getItem("ontogeny-theme"); } catch { return null; } };
const system = matchMedia("(prefers-color-scheme: dark)");
page.theme(remembered() ? remembered() === "dark" : system.matches);
system.addEventListener("change", () => { if (!remembered()) page.theme(system.matches); });
$("theme").addEventListener("click", () => {
  page.theme(!charts.dark());
  try { localStorage.setItem("ontogeny-theme", charts.dark() ? "dark" : "light"); } catch { /* a page from a file may have no storage */ }
});

// ------------------------------------------------------------------------------- filter and sort

page.filter = () => {
  const form = $("filter");
  if (!form) return;
  const { text, paper, outcome, scale } = Object.fromEntries(new FormData(form));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), rows = [...$("verdicts").tBodies[0].rows];
  let shown = 0;
  for (const row of rows) {
    const said = `${row.textContent} ${row.dataset.id}`.toLowerCase();
    const fits = words.every((word) => said.includes(word)) && [[paper, "paper"], [outcome, "outcome"], [scale, "scale"]].every(([asked, key]) => !asked || row.dataset[key] === asked);
    row.hidden = !fits;
    shown += fits;
  }
  $("shown").textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
};

page.sort = (column) => {
  const heads = [...$("verdicts").tHead.rows[0].cells], body = $("verdicts").tBodies[0];
  const up = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head, place) => (place === column ? head.setAttribute("aria-sort", up ? "ascending" : "descending") : head.removeAttribute("aria-sort")));
  const key = (row) => row.cells[column].textContent.trim();
  body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), undefined, { numeric: true })));
};

if ($("filter")) {
  $("filter").addEventListener("input", page.filter);
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  document.querySelectorAll("button.sort").forEach((button, column) => button.addEventListener("click", () => page.sort(column)));
  page.filter();
}

// ------------------------------------------------------------------------------- pictures of a claim

const group = (title, ...figures) => lab.element("div", {}, lab.element("h3", { text: title }), lab.element("div", { class: "charts" }, ...figures));

const probesOf = (runs, dimensions) => {
  const names = runs.flatMap(([, { probes }]) => Object.entries(probes).filter(([name, probe]) => probe.shape.length === dimensions && !name.startsWith("predicted ")).map(([name]) => name));
  return [...new Set(names)].sort((a, b) => a.includes("loss") - b.includes("loss") || a.localeCompare(b, undefined, { numeric: true }));
};

const rangeOf = (runs, name) => {
  const values = runs.flatMap(([, { probes }]) => [probes[name], probes[`predicted ${name}`]].filter(Boolean).flatMap((probe) => [...probe.values])).filter(Number.isFinite);
  return [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0)];
};

// A slider over training that moves all pictures drawn with it.
page.slider = (steps, listeners, start) => {
  const last = steps.length - 1, told = lab.element("output", { class: "soft" });
  const input = lab.element("input", { type: "range", min: 0, max: last, value: start ?? last, "aria-label": "training time" });
  const move = () => {
    const step = steps[input.value];
    told.textContent = `step ${step}`;
    input.setAttribute("aria-valuetext", `step ${step}`);
    for (const listen of listeners) listen();
  };
  input.addEventListener("input", move);
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "▶ watch it form"; };
  const play = lab.element("button", { type: "button", text: "▶ watch it form", onclick: () => {
    if (timer) return stop();
    if (Number(input.value) === last) input.value = 0;
    play.textContent = "❚❚ pause";
    move();
    timer = setInterval(() => {
      if (Number(input.value) >= last || !input.isConnected) return stop();
      input.value = Number(input.value) + 1;
      move();
    }, 350);
  } });
  move();
  return { row: lab.element("div", { class: "row" }, lab.element("label", {}, "training time ", input), told, play), look: () => Number(input.value), listen: (each) => listeners.push(each) };
};

const ENTRIES = 8; // a vector as short as this is drawn over training, entry by entry

const moving = (runs) => {
  const vectors = probesOf(runs, 3), matrices = probesOf(runs, 4), figures = [];
  const profiles = vectors.filter((name) => runs.some(([, { probes }]) => probes[name] && probes[name].shape[2] > ENTRIES) || runs.some(([, { probes }]) => probes[`predicted ${name}`]) || name.includes("layer"));
  const shown = [...profiles, ...matrices];
  if (!shown.length) return null;
  const longest = runs.flatMap(([, { probes }]) => shown.map((name) => probes[name]).filter(Boolean)).reduce((a, b) => (b.shape[1] > a.shape[1] ? b : a));
  const slider = page.slider(longest.steps, []);
  const add = (spec, label, fill) => {
    const { figure, update } = charts.draw(spec, label, fill);
    slider.listen(update);
    figures.push(figure);
  };
  for (const name of profiles) add(charts.vector(runs, name, rangeOf(runs, name)), `${name}, by place`, () => charts.profile(runs, name, slider.look()));
  for (const name of matrices) for (const [run, { probes }] of runs) {
    const probe = probes[name], theory = probes[`predicted ${name}`];
    if (!probe) continue;
    if (name.includes("angles")) add(charts.polar(run, probe), `${name} of ${run}`, () => ({ dots: charts.dots(probe, slider.look()) }));
    else add(charts.matrix(`${name}, ${run}`, probe), `${name} of ${run}, a matrix`, () => ({ cells: charts.cells(probe, slider.look()) }));
    if (theory) add(charts.matrix(`${name}, theory`, theory), `${name} of ${run} as theory predicts it`, () => ({ cells: charts.cells(theory, slider.look()) }));
  }
  const made = group("How the mechanism forms", ...figures);
  made.insertBefore(slider.row, made.lastChild);
  return made;
};

const short = (runs, logarithmic) => probesOf(runs, 3).flatMap((name) => runs.filter(([, { probes }]) => probes[name] && probes[name].shape[2] <= ENTRIES && probes[name].shape[1] > 2 && !probes[`predicted ${name}`] && !name.includes("layer")).map(([run, { probes }]) => charts.draw(charts.entries(run, name, probes[name], logarithmic), `${name} of ${run} over training`).figure));

page.curves = (runs, logarithmic = false) => {
  const names = probesOf(runs, 2);
  const told = runs.some(([, { probes }]) => Object.keys(probes).some((name) => name.startsWith("predicted ")));
  const figures = names.map((name) => charts.draw(charts.curve(runs, name, logarithmic), `${name} over training`).figure);
  const parts = [lab.element("div", { class: "charts" }, ...figures, ...short(runs, logarithmic))];
  parts.unshift(charts.legend(runs.map(([name]) => name), told ? [["theory", "dotted"]] : []));
  const timeline = charts.timeline(runs, logarithmic);
  if (timeline) parts.push(charts.draw(timeline, "what emerges first").figure);
  return parts;
};

page.runs = (runs) => {
  const box = lab.element("div"), logarithmic = lab.element("input", { type: "checkbox" });
  const fill = () => box.replaceChildren(...page.curves(runs, logarithmic.checked));
  logarithmic.addEventListener("change", fill);
  fill();
  const head = lab.element("div", { class: "row" }, lab.element("h3", { text: "Over training" }), lab.element("label", {}, logarithmic, " logarithmic steps"), lab.element("span", { class: "soft", text: "thin: seeds · band: 95 % · ● half way" }));
  return lab.element("div", {}, head, box);
};

const whatIf = (variation) => {
  const swept = Object.keys(variation.sweeps);
  const figures = swept.length === 2
    ? [charts.draw(charts.phases(variation), "a phase diagram").figure]
    : variation.points[0].evidence.map((_, number) => charts.draw(charts.sweep(variation, number), "a sweep").figure);
  const set = variation.changes.length ? ` with ${variation.changes.join(", ")}` : "";
  return group(`What if: ${swept.join(" and ")}${set}`, ...figures);
};
page.whatIf = whatIf;

page.fill = async (section) => {
  const box = section.querySelector(".pictures");
  if (!box || box.dataset.filled) return;
  box.dataset.filled = "yes";
  const { runs, points, variations } = Object.fromEntries(["runs", "points", "variations"].map((key) => [key, JSON.parse(section.dataset[key])]));
  try {
    const found = await Promise.all(Object.entries(runs).map(async ([name, run]) => [name, await lab.run(run)]));
    const read = found.filter(([, run]) => run);
    const backgrounds = read.map(([, run]) => run), parts = [];
    if (points.length) {
      const { spec, names, papers, told } = charts.against(points, backgrounds.find((each) => each.taught !== undefined)?.taught);
      const extra = [...(papers ? [["◇ the paper's", "dashed"]] : []), ...(told ? [["theory", "dotted"]] : [])];
      parts.push(charts.legend(names, extra), charts.draw(spec, "our numbers beside the paper's").figure);
    }
    if (read.length) {
      parts.push(page.runs(read));
      const formed = moving(read);
      if (formed) parts.push(formed);
    }
    const groups = new Map(backgrounds.filter((each) => each.group).map((each) => [each.group.name, each.group]));
    if (groups.size) parts.push(group("The group behind the task", ...[...groups.values()].map((each) => charts.draw(charts.group(each), `the action ${each.name}`).figure)));
    parts.push(...variations.map(whatIf));
    box.replaceChildren(...parts);
  } catch (error) {
    box.replaceChildren(lab.element("p", { class: "failed", text: `These pictures cannot be drawn: ${error.message}` }));
    console.error(error);
  }
};

// ------------------------------------------------------------------------------- one claim at a time

// `#a_claim` shows that claim alone; without, there is the table.
page.route = () => {
  const asked = $(decodeURIComponent(location.hash.slice(1))), open = asked?.classList.contains("claim") ? asked : null;
  document.body.classList.toggle("one", Boolean(open));
  document.querySelectorAll("section.claim").forEach((section) => section.classList.toggle("open", section === open));
  document.title = open ? `Ontogeny: ${open.dataset.claim.replaceAll("_", " ")}` : "Ontogeny";
  if (!open) { if (asked) asked.scrollIntoView(); return; }
  const ids = [...$("verdicts").tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.dataset.id), place = ids.indexOf(open.id);
  const link = (text, id) => (id ? lab.element("a", { href: `#${id}`, text }) : lab.element("span", { class: "soft", text }));
  const bar = lab.element("nav", { class: "bar", "aria-label": "Claims" }, link("← all claims", "claims"), link("‹ previous", ids[place - 1]), link("next ›", place < 0 ? undefined : ids[place + 1]));
  open.querySelector(":scope > nav.bar")?.remove();
  open.prepend(bar);
  page.fill(open);
  scrollTo({ top: 0, behavior: "instant" });
};
addEventListener("hashchange", () => page.route());

document.documentElement.classList.add("scripted");
play.start();
page.route();
