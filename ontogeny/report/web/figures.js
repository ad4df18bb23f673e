// A claim's figures: which there are, and the slider that moves them.
"use strict";
const page = {};
const $ = (id) => document.getElementById(id);

const group = (title, ...figures) =>
  lab.element(
    "div",
    {},
    lab.element("h3", { text: title }),
    lab.element("div", { class: "charts" }, ...figures),
  );

const probesOf = (runs, dimensions) => {
  const names = runs.flatMap(([, { probes }]) =>
    Object.entries(probes)
      .filter(
        ([name, probe]) => probe.shape.length === dimensions && !name.startsWith("predicted "),
      )
      .map(([name]) => name),
  );
  return [...new Set(names)].sort(
    (a, b) =>
      a.includes("loss") - b.includes("loss") || a.localeCompare(b, undefined, { numeric: true }),
  );
};

const rangeOf = (runs, name) => {
  const values = runs
    .flatMap(([, { probes }]) =>
      [probes[name], probes[`predicted ${name}`]]
        .filter(Boolean)
        .flatMap((probe) => [...probe.values]),
    )
    .filter(Number.isFinite);
  return [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0)];
};

// A slider over training that moves all figures drawn with it.
page.slider = (steps, listeners) => {
  const last = steps.length - 1,
    label = lab.element("output", { class: "soft" });
  const input = lab.element("input", {
    type: "range",
    min: 0,
    max: last,
    value: last,
    "aria-label": "training step",
  });
  const move = () => {
    const step = steps[input.value];
    label.textContent = `step ${step}`;
    input.setAttribute("aria-valuetext", `step ${step}`);
    for (const listen of listeners) listen();
  };
  input.addEventListener("input", move);
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶ watch it form";
  };
  const play = lab.element("button", {
    type: "button",
    text: "▶ watch it form",
    onclick: () => {
      if (timer) return stop();
      if (Number(input.value) === last) input.value = 0;
      play.textContent = "❚❚ pause";
      move();
      timer = setInterval(() => {
        if (Number(input.value) >= last || !input.isConnected) return stop();
        input.value = Number(input.value) + 1;
        move();
      }, 350);
    },
  });
  move();
  return {
    row: lab.element(
      "div",
      { class: "row" },
      lab.element("label", {}, "training step ", input),
      label,
      play,
    ),
    evaluation: () => Number(input.value),
    listen: (each) => listeners.push(each),
  };
};

const ENTRIES = 8; // a vector as short as this is drawn over training, entry by entry

const moving = (runs) => {
  const vectors = probesOf(runs, 3),
    matrices = probesOf(runs, 4),
    figures = [];
  const profiles = vectors.filter(
    (name) =>
      runs.some(([, { probes }]) => probes[name] && probes[name].shape[2] > ENTRIES) ||
      runs.some(([, { probes }]) => probes[`predicted ${name}`]) ||
      name.includes("layer"),
  );
  const shown = [...profiles, ...matrices];
  if (!shown.length) return null;
  const longest = runs
    .flatMap(([, { probes }]) => shown.map((name) => probes[name]).filter(Boolean))
    .reduce((a, b) => (b.shape[1] > a.shape[1] ? b : a));
  const slider = page.slider(longest.steps, []);
  const add = (spec, label, fill) => {
    const { figure, update } = charts.draw(spec, label, fill);
    slider.listen(update);
    figures.push(figure);
  };
  for (const name of profiles)
    add(charts.vector(runs, name, rangeOf(runs, name)), `${name}, by index`, () =>
      charts.profile(runs, name, slider.evaluation()),
    );
  for (const name of matrices)
    for (const [run, { probes }] of runs) {
      const probe = probes[name],
        theory = probes[`predicted ${name}`];
      if (!probe) continue;
      if (name.includes("angles"))
        add(charts.polar(run, probe), `${name} of ${run}`, () => ({
          dots: charts.dots(probe, slider.evaluation()),
        }));
      else
        add(charts.matrix(`${name}, ${run}`, probe), `${name} of ${run}, a matrix`, () => ({
          cells: charts.cells(probe, slider.evaluation()),
        }));
      if (theory)
        add(
          charts.matrix(`${name}, theory`, theory),
          `${name} of ${run} as theory predicts it`,
          () => ({ cells: charts.cells(theory, slider.evaluation()) }),
        );
    }
  const made = group("How the mechanism forms", ...figures);
  made.insertBefore(slider.row, made.lastChild);
  return made;
};

const short = (runs, logarithmic) =>
  probesOf(runs, 3).flatMap((name) =>
    runs
      .filter(
        ([, { probes }]) =>
          probes[name] &&
          probes[name].shape[2] <= ENTRIES &&
          probes[name].shape[1] > 2 &&
          !probes[`predicted ${name}`] &&
          !name.includes("layer"),
      )
      .map(
        ([run, { probes }]) =>
          charts.draw(
            charts.entries(run, name, probes[name], logarithmic),
            `${name} of ${run} over training`,
          ).figure,
      ),
  );

page.curves = (runs, logarithmic = false) => {
  const names = probesOf(runs, 2);
  const predicted = runs.some(([, { probes }]) =>
    Object.keys(probes).some((name) => name.startsWith("predicted ")),
  );
  const figures = names.map(
    (name) => charts.draw(charts.curve(runs, name, logarithmic), `${name} over training`).figure,
  );
  const parts = [lab.element("div", { class: "charts" }, ...figures, ...short(runs, logarithmic))];
  parts.unshift(
    charts.legend(
      runs.map(([name]) => name),
      predicted ? [["theory", "dotted"]] : [],
    ),
  );
  const timeline = charts.timeline(runs, logarithmic);
  if (timeline) parts.push(charts.draw(timeline, "what emerges first").figure);
  return parts;
};

// Whether evaluations are log-spaced: the first steps are a tenth of an even share, or less.
const logSpaced = ({ steps }) =>
  steps.length > 4 && steps[1] * (steps.length - 1) < 0.1 * steps[steps.length - 1];

page.runs = (runs) => {
  const box = lab.element("div"),
    logarithmic = lab.element("input", { type: "checkbox" });
  logarithmic.checked = runs.some(([, { probes }]) => Object.values(probes).some(logSpaced));
  const fill = () => box.replaceChildren(...page.curves(runs, logarithmic.checked));
  logarithmic.addEventListener("change", fill);
  fill();
  const head = lab.element(
    "div",
    { class: "row" },
    lab.element("h3", { text: "Over training" }),
    lab.element("label", {}, logarithmic, " logarithmic steps"),
    lab.element("span", { class: "soft", text: "thin: seeds · band: 95 % interval · ● half way" }),
  );
  return lab.element("div", {}, head, box);
};

const sweepFigures = (variation) => {
  const swept = Object.keys(variation.sweeps);
  const figures =
    swept.length === 2
      ? [charts.draw(charts.phases(variation), "a phase diagram").figure]
      : variation.points[0].evidence.map(
          (_, number) => charts.draw(charts.sweep(variation, number), "a sweep").figure,
        );
  const set = variation.changes.length ? ` with ${variation.changes.join(", ")}` : "";
  return group(`Sweep of ${swept.join(" and ")}${set}`, ...figures);
};

page.fill = async (section) => {
  const box = section.querySelector(".figures");
  if (!box || box.dataset.filled) return;
  box.dataset.filled = "yes";
  const { runs, points, sweeps, map } = Object.fromEntries(
    ["runs", "points", "sweeps", "map"].map((key) => [key, JSON.parse(section.dataset[key])]),
  );
  try {
    const found = await Promise.all(
      Object.entries(runs).map(async ([name, run]) => [name, await lab.run(run)]),
    );
    const read = found.filter(([, run]) => run);
    const backgrounds = read.map(([, run]) => run),
      parts = [];
    if (map?.diagram)
      parts.push(
        charts.draw(charts.map(map.diagram), "where in the region the claim holds").figure,
        lab.element("p", {
          class: "soft",
          text:
            "Cells over the two settings that explain most together, and a smooth estimate of how often it holds." +
            (map.diagram.own ? " ☆ the claim's own setting." : "") +
            (map.diagram.theory.length ? " Dashed: where theory has it flip." : ""),
        }),
      );
    if (points.length) {
      const { spec, names, papers, predicted } = charts.against(
        points,
        backgrounds.find((each) => each.trained_length !== undefined)?.trained_length,
      );
      const extra = [
        ...(papers ? [["◇ the paper's", "dashed"]] : []),
        ...(predicted ? [["theory", "dotted"]] : []),
      ];
      parts.push(
        charts.legend(names, extra),
        charts.draw(spec, "our numbers and the paper's").figure,
      );
    }
    if (read.length) {
      parts.push(page.runs(read));
      const formed = moving(read);
      if (formed) parts.push(formed);
    }
    const groups = new Map(
      backgrounds.filter((each) => each.group).map((each) => [each.group.name, each.group]),
    );
    if (groups.size)
      parts.push(
        group(
          "The group behind the task",
          ...[...groups.values()].map(
            (each) => charts.draw(charts.group(each), `the action ${each.name}`).figure,
          ),
        ),
      );
    parts.push(...sweeps.map(sweepFigures));
    box.replaceChildren(...parts);
  } catch (error) {
    box.replaceChildren(
      lab.element("p", {
        class: "failed",
        text: `These figures cannot be drawn: ${error.message}`,
      }),
    );
    console.error(error);
  }
};

document.addEventListener("theme", () => {
  for (const box of document.querySelectorAll(".figures[data-filled]")) {
    delete box.dataset.filled;
    const section = box.closest("section");
    if (section.classList.contains("open")) page.fill(section);
  }
});
