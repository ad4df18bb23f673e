// Pictures, as Vega-Lite specifications. A picture is asked for by what it shows, and drawn when it comes into view.
"use strict";
const charts = {};
const COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b", "#79706e", "#ff9da6"];
const BRIGHT = ["#8ab4f8", "#ffb074", "#8fd18a", "#f28b82", "#9adbd6", "#d7aefb", "#d0a98f", "#fdd663", "#b5b0ad", "#ffc4cb"]; // on dark
const OUTCOMES = { supported: "#2e9e4a", contradicted: "#d0483e", undecided: "#c98512", untested: "#888888" };
const PREDICTED = "predicted ";
const SMALL = { width: 250, height: 130 };

charts.dark = () => document.documentElement.classList.contains("dark");
charts.colour = (number) => (charts.dark() ? BRIGHT : COLOURS)[number % COLOURS.length];

const config = () => {
  const ink = charts.dark() ? "#d6d8db" : "#33363b";
  const line = charts.dark() ? "#3a3d42" : "#e3e5e8";
  const plain = { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal" };
  return {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { ...plain, labelFontSize: 10, titleFontSize: 10, gridOpacity: 0.6 },
    legend: { ...plain, labelFontSize: 10, titleFontSize: 10 },
    title: { color: ink, fontSize: 11, fontWeight: "normal", anchor: "start" },
    text: { fill: ink },
  };
};

// ------------------------------------------------------------------------------- numbers of a run

const at = (probe, seed, look, inner = 0) => {
  const size = probe.shape.slice(2).reduce((a, b) => a * b, 1);
  return probe.values[(seed * probe.shape[1] + look) * size + inner];
};

const interval = (values) => {
  const known = values.filter(Number.isFinite), n = known.length;
  const mean = known.reduce((a, b) => a + b, 0) / n;
  const spread = Math.sqrt(known.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1));
  const half = n > 1 ? (lab.facts.quantiles[n - 2] ?? 1.96) * spread / Math.sqrt(n) : 0;
  return { mean, low: mean - half, high: mean + half };
};

// The first look at which a curve is half way from where it begins to where it ends.
charts.halfway = (steps, values) => {
  const known = values.filter(Number.isFinite), last = known[known.length - 1], first = values[0];
  const spread = Math.max(...known) - Math.min(...known);
  if (known.length < 3 || !(Math.abs(last - first) > 0.5 * spread) || spread < 1e-6) return null;
  const level = (first + last) / 2, place = values.findIndex((v) => (last > first ? v >= level : v <= level));
  return place < 0 ? null : { step: steps[place], value: values[place] };
};

const seedsOf = (probe) => [...Array(probe.shape[0]).keys()];
const curveOf = (probe, seed) => probe.steps.map((_, look) => at(probe, seed, look));

// ------------------------------------------------------------------------------- specifications

const steps = (logarithmic) => ({
  field: "step", type: "quantitative", title: "steps",
  scale: logarithmic ? { type: "symlog" } : {}, axis: { tickCount: 4, format: "~s" },
});

// A probe over training: a line per experiment, a band over seeds, thin seeds, theory dotted, and where it is half way.
charts.curve = (runs, name, logarithmic) => {
  const thin = [], mean = [], told = [], half = [];
  runs.forEach(([run, { probes }], number) => {
    const colour = charts.colour(number), probe = probes[name], theory = probes[PREDICTED + name];
    if (probe) {
      for (const seed of seedsOf(probe)) {
        curveOf(probe, seed).forEach((value, look) => thin.push({ run, seed, colour, step: probe.steps[look], value }));
      }
      const middle = probe.steps.map((_, look) => interval(seedsOf(probe).map((seed) => at(probe, seed, look))));
      middle.forEach((value, look) => mean.push({ run, colour, step: probe.steps[look], ...value }));
      const passed = charts.halfway(probe.steps, middle.map((value) => value.mean));
      if (passed) half.push({ run, colour, ...passed });
    }
    if (theory) {
      theory.steps.forEach((step, look) => told.push({ run, colour, step, value: interval(seedsOf(theory).map((seed) => at(theory, seed, look))).mean }));
    }
  });
  const values = thin.map((row) => row.value).filter(Number.isFinite);
  const least = Math.min(...values), most = Math.max(...values);
  const loss = name.includes("loss") && least > 0;
  const room = 0.04 * (most - least || 1);
  const scale = loss ? { type: "log" } : least >= -0.2 && most <= 1.0001 ? { domain: [Math.min(0, least), 1] } : { domain: [least - room, most + room], nice: false };
  const y = (field) => ({ field, type: "quantitative", title: null, scale: { ...scale, clamp: !loss }, axis: { tickCount: 4 } });
  const colour = { field: "colour", type: "nominal", scale: null };
  const x = steps(logarithmic);
  const layer = [
    { data: { values: thin }, mark: { type: "line", strokeWidth: 0.7, opacity: 0.35 }, encoding: { x, y: y("value"), color: colour, detail: [{ field: "run" }, { field: "seed" }] } },
    { data: { values: mean }, mark: { type: "line", strokeWidth: 2 }, encoding: { x, y: y("mean"), color: colour, detail: { field: "run" } } },
    { data: { values: mean }, mark: { type: "point", size: 60, opacity: 0, filled: true }, encoding: { x, y: y("mean"), color: colour, tooltip: ["run", "step", "mean", "low", "high"].map((field) => ({ field, format: field === "run" ? undefined : ".4~g" })) } },
    { data: { values: told }, mark: { type: "line", strokeWidth: 1.6, strokeDash: [2, 3] }, encoding: { x, y: y("value"), color: colour, detail: { field: "run" } } },
    { data: { values: half }, mark: { type: "point", size: 38, filled: true, shape: "circle" }, encoding: { x, y: y("value"), color: colour, tooltip: [{ field: "run" }, { field: "step", title: "half way at step" }] } },
  ];
  if (!loss) layer.splice(1, 0, { data: { values: mean }, mark: { type: "area", opacity: 0.13, clip: true }, encoding: { x, y: y("low"), y2: { field: "high" }, color: colour, detail: { field: "run" } } });
  return { ...SMALL, title: name, layer: layer.filter(({ data }) => data.values.length) };
};

// When each probe is half way: what emerges first.
charts.timeline = (runs, logarithmic) => {
  const rows = [];
  runs.forEach(([run, { probes }], number) => {
    for (const [name, probe] of Object.entries(probes)) {
      if (probe.shape.length !== 2 || name.startsWith(PREDICTED)) continue;
      for (const seed of seedsOf(probe)) {
        const passed = charts.halfway(probe.steps, curveOf(probe, seed));
        if (passed) rows.push({ run, probe: name, seed, colour: charts.colour(number), step: passed.step });
      }
    }
  });
  if (new Set(rows.map((row) => row.probe)).size < 2) return null;
  const x = { ...steps(logarithmic), title: "step at which it is half way from its first value to its last" };
  const y = { field: "probe", type: "nominal", title: null, sort: { field: "step", op: "mean" }, axis: { labelLimit: 190, grid: true } };
  const color = { field: "colour", type: "nominal", scale: null };
  return {
    width: 420, height: { step: 15 }, data: { values: rows }, title: "What emerges first",
    layer: [
      { mark: { type: "tick", opacity: 0.6, thickness: 1.2 }, encoding: { x, y, color, tooltip: ["run", "probe", "seed", "step"].map((field) => ({ field })) } },
      { mark: { type: "point", filled: true, size: 36 }, encoding: { x: { ...x, aggregate: "mean" }, y, color, detail: { field: "run" } } },
    ],
  };
};

// Points of curves with intervals; the paper's are diamonds, dashed, what theory predicts is dotted.
charts.against = (points, taught) => {
  const theory = "predicted, ", own = (name) => name.replace(theory, "");
  const names = [...new Set(points.map((point) => own(point.series)))];
  const rows = points.map((point) => ({ ...point, own: own(point.series), colour: charts.colour(names.indexOf(own(point.series))) }));
  const ours = rows.filter((row) => !row.series.startsWith(theory)), told = rows.filter((row) => row.series.startsWith(theory));
  const papers = ours.filter((row) => row.paper !== null);
  const each = ours.flatMap((row) => (row.each ?? []).map((value) => ({ ...row, value })));
  const positive = rows.every((row) => row.x > 0);
  const x = { field: "x", type: "quantitative", title: null, scale: positive ? { type: "log", base: 2 } : { zero: false }, axis: { values: [...new Set(rows.map((row) => row.x))], labelOverlap: true, grid: false, format: "~s" } };
  const known = [...rows.map((row) => row.ours), ...papers.map((row) => row.paper), ...each.map((row) => row.value)].filter(Number.isFinite);
  const least = Math.min(...known), most = Math.max(...known), room = 0.06 * (most - least || 1);
  const y = (field) => ({ field, type: "quantitative", title: null, scale: { domain: [least - room, most + room], nice: false } });
  const color = { field: "colour", type: "nominal", scale: null }, detail = { field: "own" };
  const line = (values, field, mark) => ({ data: { values }, mark: { type: "line", ...mark }, encoding: { x, y: y(field), color, detail } });
  const layer = [
    line(told, "ours", { strokeDash: [2, 3], strokeWidth: 1.8 }),
    line(papers, "paper", { strokeDash: [6, 3], strokeWidth: 1, opacity: 0.8 }),
    { data: { values: papers }, mark: { type: "point", shape: "diamond", size: 50 }, encoding: { x, y: y("paper"), color } },
    { data: { values: ours.filter((row) => row.low !== null) }, mark: { type: "rule", opacity: 0.5, clip: true }, encoding: { x, y: y("low"), y2: { field: "high" }, color } },
    { data: { values: each }, mark: { type: "tick", orient: "horizontal", size: 7, opacity: 0.6, thickness: 1 }, encoding: { x, y: y("value"), color } },
    line(ours, "ours", { strokeWidth: 2 }),
    { data: { values: ours }, mark: { type: "point", filled: true, size: 40 }, encoding: { x, y: y("ours"), color, tooltip: [{ field: "own", title: "curve" }, ...["x", "ours", "low", "high", "paper"].map((field) => ({ field, format: ".4~g" }))] } },
  ];
  if (taught !== undefined && rows.some((row) => row.x === taught)) {
    const here = { data: { values: [{ x: taught }] } };
    layer.push({ ...here, mark: { type: "rule", strokeDash: [3, 3], opacity: 0.6 }, encoding: { x } });
    layer.push({ ...here, mark: { type: "text", align: "left", dx: 4, y: 8, text: "taught", fontSize: 10 }, encoding: { x } });
  }
  return { spec: { width: 440, height: 240, layer: layer.filter(({ data }) => data.values.length) }, names, papers: papers.length > 0, told: told.length > 0 };
};

// A vector at one look: a line per experiment, thin seeds, theory dotted.
charts.profile = (runs, name, look) => {
  const thin = [], mean = [], told = [];
  runs.forEach(([run, { probes }], number) => {
    const colour = charts.colour(number);
    for (const [probe, rows] of [[probes[name], mean], [probes[PREDICTED + name], told]]) {
      if (!probe) continue;
      const here = Math.min(look, probe.shape[1] - 1);
      for (let place = 0; place < probe.shape[2]; place++) {
        const values = seedsOf(probe).map((seed) => at(probe, seed, here, place));
        rows.push({ run, colour, place, value: interval(values).mean });
        if (rows === mean) values.forEach((value, seed) => thin.push({ run, colour, place, seed, value }));
      }
    }
  });
  return { thin, mean, told };
};

charts.vector = (runs, name, range) => {
  const x = { field: "place", type: "quantitative", title: name.includes("layer") ? "layer" : "place", axis: { tickMinStep: 1, tickCount: 6 } };
  const y = { field: "value", type: "quantitative", title: null, scale: { domain: range, zero: false } };
  const color = { field: "colour", type: "nominal", scale: null };
  const line = (data, mark, detail) => ({ data: { name: data, values: [] }, mark: { type: "line", ...mark }, encoding: { x, y, color, detail } });
  return { ...SMALL, title: name, layer: [
    line("thin", { strokeWidth: 0.7, opacity: 0.35 }, [{ field: "run" }, { field: "seed" }]),
    line("mean", { strokeWidth: 2, point: { size: 22 } }, [{ field: "run" }]),
    line("told", { strokeWidth: 1.6, strokeDash: [2, 3] }, [{ field: "run" }]),
  ] };
};

// A short vector over training (singular values, strengths): a line per entry.
charts.entries = (run, name, probe, logarithmic) => {
  const rows = [];
  for (let place = 0; place < probe.shape[2]; place++) {
    for (const seed of seedsOf(probe)) probe.steps.forEach((step, look) => rows.push({ step, seed, entry: place, value: at(probe, seed, look, place) }));
  }
  const x = steps(logarithmic), color = { field: "entry", type: "ordinal", scale: { scheme: "viridis" }, legend: { title: null } };
  const y = (aggregate) => ({ field: "value", type: "quantitative", title: null, aggregate, scale: { zero: false } });
  return { ...SMALL, title: `${name}, ${run}`, data: { values: rows }, layer: [
    { mark: { type: "line", strokeWidth: 0.7, opacity: 0.35 }, encoding: { x, y: y(), color, detail: { field: "seed" } } },
    { mark: { type: "line", strokeWidth: 1.8 }, encoding: { x, y: y("mean"), color } },
  ] };
};

charts.cells = (probe, look) => {
  const [, looks, rows, columns] = probe.shape, here = Math.min(look, looks - 1), cells = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) cells.push({ row, column, value: at(probe, 0, here, row * columns + column) });
  }
  return cells;
};

// A matrix of the first seed. Its colours mean the same at every look.
charts.matrix = (title, probe) => {
  const [, , rows, columns] = probe.shape, known = probe.values.filter(Number.isFinite);
  const most = known.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9), signed = known.some((value) => value < -1e-3 * most);
  const side = Math.min(230, 26 * Math.max(rows, columns)), cell = side / Math.max(rows, columns);
  const scheme = signed ? (charts.dark() ? ["#6ea6ff", "#15171a", "#ff8a75"] : ["#2166ac", "#f7f7f7", "#b2182b"]) : (charts.dark() ? ["#15171a", "#8ab4f8"] : ["#ffffff", "#1b4b9c"]);
  const domain = signed ? [-most, 0, most] : [0, most];
  const axis = { labels: rows <= 16 && columns <= 16, ticks: false, domain: false, labelAngle: 0 };
  return { width: cell * columns, height: cell * rows, title, data: { name: "cells", values: [] }, mark: { type: "rect" }, encoding: {
    x: { field: "column", type: "ordinal", title: null, axis }, y: { field: "row", type: "ordinal", title: null, axis },
    color: { field: "value", type: "quantitative", scale: { domain, range: scheme, clamp: true, interpolate: "rgb" }, legend: { title: null, gradientLength: 90, gradientThickness: 8, format: ".2~g" } },
    tooltip: [{ field: "row" }, { field: "column" }, { field: "value", format: ".4~g" }],
  } };
};

// Angles between pairs, a ring per layer, a dot per pair.
charts.dots = (probe, look) => {
  const [seeds, looks, layers, pairs] = probe.shape, here = Math.min(look, looks - 1), dots = [];
  for (let seed = 0; seed < seeds; seed++) for (let layer = 0; layer < layers; layer++) for (let pair = 0; pair < pairs; pair++) {
    const degrees = at(probe, seed, here, layer * pairs + pair), turn = degrees * Math.PI / 180;
    dots.push({ layer, degrees, x: (layer + 1) * Math.cos(turn), y: (layer + 1) * Math.sin(turn) });
  }
  return dots;
};

charts.polar = (title, probe) => {
  const layers = probe.shape[2], rings = [], spokes = [];
  for (let layer = 0; layer < layers; layer++) for (let degrees = 0; degrees <= 120; degrees += 4) {
    const turn = degrees * Math.PI / 180;
    rings.push({ layer, order: degrees, x: (layer + 1) * Math.cos(turn), y: (layer + 1) * Math.sin(turn) });
  }
  for (const degrees of [0, 30, 60, 90, 120]) {
    const turn = degrees * Math.PI / 180, far = layers + 0.35;
    spokes.push({ degrees: `${degrees}°`, x: far * Math.cos(turn), y: far * Math.sin(turn) });
  }
  const most = layers + 0.6, axis = null;
  const x = { field: "x", type: "quantitative", axis, scale: { domain: [-most / 2 - 0.3, most] } }, y = { field: "y", type: "quantitative", axis, scale: { domain: [-0.1, most] } };
  const color = { field: "layer", type: "ordinal", scale: { scheme: "viridis" }, legend: { title: "layer" } };
  return { width: 240, height: 155, title, layer: [
    { data: { values: rings }, mark: { type: "line", strokeWidth: 0.6, opacity: 0.5, color: "#888888" }, encoding: { x, y, detail: { field: "layer" }, order: { field: "order" } } },
    { data: { values: spokes }, mark: { type: "text", fontSize: 9 }, encoding: { x, y, text: { field: "degrees" } } },
    { data: { name: "dots", values: [] }, mark: { type: "point", filled: true, size: 18, opacity: 0.5 }, encoding: { x, y, color, tooltip: [{ field: "layer" }, { field: "degrees", format: ".3~g" }] } },
  ] };
};

// The group behind a LEGO task: what each action makes of each value.
charts.group = ({ name, table }) => {
  const cells = table.flatMap((row, action) => row.map((to, value) => ({ action, value, to })));
  const text = table.length <= 12, axis = (title) => ({ title, labels: text, ticks: false, domain: false, labelAngle: 0 });
  const x = { field: "action", type: "ordinal", axis: axis("action") }, y = { field: "value", type: "ordinal", axis: axis("value") };
  const layer = [{ mark: { type: "rect" }, encoding: { x, y, color: { field: "to", type: "nominal", legend: null, scale: { scheme: "tableau10" } }, tooltip: ["action", "value", "to"].map((field) => ({ field })) } }];
  if (text) layer.push({ mark: { type: "text", fontSize: 10, fill: "#ffffff" }, encoding: { x, y, text: { field: "to" } } });
  return { width: { step: text ? 18 : Math.max(2, 360 / table.length) }, height: { step: 16 }, title: `${name}: what an action (across) makes of a value (down)`, data: { values: cells }, layer };
};

// What if: the verdict at every point of a grid, and each number along a single sweep.
charts.phases = (variation) => {
  const [across, up] = Object.keys(variation.sweeps);
  const cells = variation.points.map((point) => ({ across: point.at[0], up: point.at[1], outcome: point.outcome }));
  const color = { field: "outcome", type: "nominal", scale: { domain: Object.keys(OUTCOMES), range: Object.values(OUTCOMES) }, legend: { title: null, values: [...new Set(cells.map((cell) => cell.outcome))] } };
  return { width: { step: 44 }, height: { step: 30 }, title: "Where the verdict flips", data: { values: cells }, mark: { type: "rect", stroke: charts.dark() ? "#15171a" : "#ffffff" }, encoding: {
    x: { field: "across", type: "ordinal", title: across, sort: variation.sweeps[across], axis: { labelAngle: 0 } },
    y: { field: "up", type: "ordinal", title: up, sort: [...variation.sweeps[up]].reverse() }, color, tooltip: ["across", "up", "outcome"].map((field) => ({ field })),
  } };
};

charts.sweep = (variation, number) => {
  const [path] = Object.keys(variation.sweeps), values = variation.sweeps[path];
  const rows = variation.points.map((point) => ({ at: point.at[0], ...point.evidence[number] })).filter((row) => row.ours !== null);
  const numeric = values.every((value) => value !== "" && Number.isFinite(Number(value)));
  for (const row of rows) if (numeric) row.at = Number(row.at);
  const logarithmic = numeric && values.every((value) => Number(value) > 0);
  const x = { field: "at", type: numeric ? "quantitative" : "ordinal", title: path, sort: values, scale: logarithmic ? { type: "log", base: 2 } : {}, axis: numeric ? { values: values.map(Number), format: "~g" } : { labelAngle: 0 } };
  const y = (field) => ({ field, type: "quantitative", title: null, scale: { zero: false } });
  const color = { field: "outcome", type: "nominal", legend: null, scale: { domain: Object.keys(OUTCOMES), range: Object.values(OUTCOMES) } };
  const layer = [
    { mark: { type: "line", color: "#999999", strokeWidth: 1 }, encoding: { x, y: y("ours") } },
    { transform: [{ filter: "isValid(datum.low)" }], mark: { type: "rule", color: "#999999" }, encoding: { x, y: y("low"), y2: { field: "high" } } },
    { mark: { type: "point", filled: true, size: 60 }, encoding: { x, y: y("ours"), color, tooltip: ["at", "outcome", "ours", "low", "high"].map((field) => ({ field })) } },
  ];
  if (rows.length && rows[0].paper !== null) layer.push({ data: { values: [rows[0]] }, mark: { type: "rule", strokeDash: [3, 3] }, encoding: { y: y("paper") } });
  const title = rows.length ? rows[0].text : "";
  return { ...SMALL, title: { text: title, limit: 270 }, data: { values: rows }, layer };
};

// ------------------------------------------------------------------------------- drawing

const drawn = new Set();

// Draws a specification into a figure when it comes into view; `fill` gives named data, now and at every later call.
charts.draw = (spec, label, fill) => {
  const figure = lab.element("figure", { role: "img", "aria-label": label });
  const size = (each) => (typeof each === "number" ? each : 60);
  figure.style.minHeight = `${size(spec.height) + 50}px`;
  figure.style.minWidth = `min(100%, ${size(spec.width) + 40}px)`;
  let view = null;
  const update = () => {
    if (!view || !fill) return;
    for (const [name, rows] of Object.entries(fill())) view.data(name, rows);
    view.runAsync();
  };
  const show = async () => {
    if (view) view.finalize();
    const compiled = vegaLite.compile({ ...spec, autosize: { type: "pad" } }, { config: config() }).spec;
    view = new vega.View(vega.parse(compiled, null, { ast: true }), { expr: vega.expressionInterpreter, renderer: "canvas", container: figure, hover: true });
    update();
    await view.runAsync();
  };
  const seen = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    seen.disconnect();
    show().catch((error) => { figure.textContent = `This picture cannot be drawn: ${error.message}`; console.error(error); });
  }, { rootMargin: "300px" });
  seen.observe(figure);
  drawn.add({ figure, again: () => view && show() });
  return { figure, update };
};

charts.redraw = () => {
  for (const each of drawn) {
    if (each.figure.isConnected) each.again();
    else drawn.delete(each);
  }
};

charts.legend = (names, extra = []) => {
  const chip = (name, style, colour) => {
    const sign = lab.element("i", { "aria-hidden": "true" });
    sign.style.borderTopColor = colour; sign.style.borderTopStyle = style;
    return lab.element("span", {}, sign, name);
  };
  const chips = names.map((name, number) => chip(name, "solid", charts.colour(number)));
  return lab.element("div", { class: "legend" }, ...chips, ...extra.map(([name, style]) => chip(name, style, "currentColor")));
};
