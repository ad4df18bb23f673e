// Pictures of mechanisms and of sweeps, as Vega-Lite specifications.
"use strict";
// A vector at one evaluation: a line per experiment, thin seeds, theory dotted.
charts.profile = (runs, name, evaluation) => {
  const thin = [],
    mean = [],
    predicted = [];
  runs.forEach(([run, { probes }], number) => {
    const colour = charts.colour(number);
    for (const [probe, rows] of [
      [probes[name], mean],
      [probes[PREDICTED + name], predicted],
    ]) {
      if (!probe) continue;
      const here = Math.min(evaluation, probe.shape[1] - 1);
      for (let index = 0; index < probe.shape[2]; index++) {
        const values = seedsOf(probe).map((seed) => at(probe, seed, here, index));
        rows.push({ run, colour, index, value: interval(values).mean });
        if (rows === mean)
          values.forEach((value, seed) => thin.push({ run, colour, index, seed, value }));
      }
    }
  });
  return { thin, mean, predicted };
};

charts.vector = (runs, name, range) => {
  const x = {
    field: "index",
    type: "quantitative",
    title: name.includes("layer") ? "layer" : "index",
    axis: { tickMinStep: 1, tickCount: 6 },
  };
  const y = {
    field: "value",
    type: "quantitative",
    title: null,
    scale: { domain: range, zero: false },
  };
  const color = { field: "colour", type: "nominal", scale: null };
  const line = (data, mark, detail) => ({
    data: { name: data, values: [] },
    mark: { type: "line", ...mark },
    encoding: { x, y, color, detail },
  });
  return {
    ...SMALL,
    title: name,
    layer: [
      line("thin", { strokeWidth: 0.7, opacity: 0.35 }, [{ field: "run" }, { field: "seed" }]),
      line("mean", { strokeWidth: 2, point: { size: 22 } }, [{ field: "run" }]),
      line("predicted", { strokeWidth: 1.6, strokeDash: [2, 3] }, [{ field: "run" }]),
    ],
  };
};

// A short vector over training (singular values, strengths): a line per entry.
charts.entries = (run, name, probe, logarithmic) => {
  const rows = [];
  for (let index = 0; index < probe.shape[2]; index++) {
    for (const seed of seedsOf(probe))
      probe.steps.forEach((step, evaluation) =>
        rows.push({ step, seed, entry: index, value: at(probe, seed, evaluation, index) }),
      );
  }
  const x = steps(logarithmic),
    color = {
      field: "entry",
      type: "ordinal",
      scale: { scheme: "viridis" },
      legend: { title: null },
    };
  const y = (aggregate) => ({
    field: "value",
    type: "quantitative",
    title: null,
    aggregate,
    scale: { zero: false },
  });
  return {
    ...SMALL,
    title: `${name}, ${run}`,
    data: { values: rows },
    layer: [
      {
        mark: { type: "line", strokeWidth: 0.7, opacity: 0.35 },
        encoding: { x, y: y(), color, detail: { field: "seed" } },
      },
      { mark: { type: "line", strokeWidth: 1.8 }, encoding: { x, y: y("mean"), color } },
    ],
  };
};

charts.cells = (probe, evaluation) => {
  const [, evaluations, rows, columns] = probe.shape,
    here = Math.min(evaluation, evaluations - 1),
    cells = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      cells.push({ row, column, value: at(probe, 0, here, row * columns + column) });
  }
  return cells;
};

// A matrix of the first seed. Its colours mean the same at every evaluation.
charts.matrix = (title, probe) => {
  const [, , rows, columns] = probe.shape,
    known = probe.values.filter(Number.isFinite);
  const most = known.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9),
    signed = known.some((value) => value < -1e-3 * most);
  const side = Math.min(230, 26 * Math.max(rows, columns)),
    cell = side / Math.max(rows, columns);
  const scheme = signed
    ? charts.dark()
      ? ["#6ea6ff", "#15171a", "#ff8a75"]
      : ["#2166ac", "#f7f7f7", "#b2182b"]
    : charts.dark()
      ? ["#15171a", "#8ab4f8"]
      : ["#ffffff", "#1b4b9c"];
  const domain = signed ? [-most, 0, most] : [0, most];
  const axis = { labels: rows <= 16 && columns <= 16, ticks: false, domain: false, labelAngle: 0 };
  return {
    width: cell * columns,
    height: cell * rows,
    title,
    data: { name: "cells", values: [] },
    mark: { type: "rect" },
    encoding: {
      x: { field: "column", type: "ordinal", title: null, axis },
      y: { field: "row", type: "ordinal", title: null, axis },
      color: {
        field: "value",
        type: "quantitative",
        scale: { domain, range: scheme, clamp: true, interpolate: "rgb" },
        legend: { title: null, gradientLength: 90, gradientThickness: 8, format: ".2~g" },
      },
      tooltip: [{ field: "row" }, { field: "column" }, { field: "value", format: ".4~g" }],
    },
  };
};

// Angles between pairs, a ring per layer, a dot per pair.
charts.dots = (probe, evaluation) => {
  const [seeds, evaluations, layers, pairs] = probe.shape,
    here = Math.min(evaluation, evaluations - 1),
    dots = [];
  for (let seed = 0; seed < seeds; seed++)
    for (let layer = 0; layer < layers; layer++)
      for (let pair = 0; pair < pairs; pair++) {
        const degrees = at(probe, seed, here, layer * pairs + pair),
          turn = (degrees * Math.PI) / 180;
        dots.push({
          layer,
          degrees,
          x: (layer + 1) * Math.cos(turn),
          y: (layer + 1) * Math.sin(turn),
        });
      }
  return dots;
};

charts.polar = (title, probe) => {
  const layers = probe.shape[2],
    rings = [],
    spokes = [];
  for (let layer = 0; layer < layers; layer++)
    for (let degrees = 0; degrees <= 120; degrees += 4) {
      const turn = (degrees * Math.PI) / 180;
      rings.push({
        layer,
        order: degrees,
        x: (layer + 1) * Math.cos(turn),
        y: (layer + 1) * Math.sin(turn),
      });
    }
  for (const degrees of [0, 30, 60, 90, 120]) {
    const turn = (degrees * Math.PI) / 180,
      far = layers + 0.35;
    spokes.push({ degrees: `${degrees}°`, x: far * Math.cos(turn), y: far * Math.sin(turn) });
  }
  const most = layers + 0.6,
    axis = null;
  const x = { field: "x", type: "quantitative", axis, scale: { domain: [-most / 2 - 0.3, most] } },
    y = { field: "y", type: "quantitative", axis, scale: { domain: [-0.1, most] } };
  const color = {
    field: "layer",
    type: "ordinal",
    scale: { scheme: "viridis" },
    legend: { title: "layer" },
  };
  return {
    width: 240,
    height: 155,
    title,
    layer: [
      {
        data: { values: rings },
        mark: { type: "line", strokeWidth: 0.6, opacity: 0.5, color: "#888888" },
        encoding: { x, y, detail: { field: "layer" }, order: { field: "order" } },
      },
      {
        data: { values: spokes },
        mark: { type: "text", fontSize: 9 },
        encoding: { x, y, text: { field: "degrees" } },
      },
      {
        data: { name: "dots", values: [] },
        mark: { type: "point", filled: true, size: 18, opacity: 0.5 },
        encoding: {
          x,
          y,
          color,
          tooltip: [{ field: "layer" }, { field: "degrees", format: ".3~g" }],
        },
      },
    ],
  };
};

// The group behind a LEGO task: what each action makes of each value.
charts.group = ({ name, table }) => {
  const cells = table.flatMap((row, action) => row.map((to, value) => ({ action, value, to })));
  const text = table.length <= 12,
    axis = (title) => ({ title, labels: text, ticks: false, domain: false, labelAngle: 0 });
  const x = { field: "action", type: "ordinal", axis: axis("action") },
    y = { field: "value", type: "ordinal", axis: axis("value") };
  const layer = [
    {
      mark: { type: "rect" },
      encoding: {
        x,
        y,
        color: { field: "to", type: "nominal", legend: null, scale: { scheme: "tableau10" } },
        tooltip: ["action", "value", "to"].map((field) => ({ field })),
      },
    },
  ];
  if (text)
    layer.push({
      mark: { type: "text", fontSize: 10, fill: "#ffffff" },
      encoding: { x, y, text: { field: "to" } },
    });
  return {
    width: { step: text ? 18 : Math.max(2, 360 / table.length) },
    height: { step: 16 },
    title: `${name}: what an action (across) makes of a value (down)`,
    data: { values: cells },
    layer,
  };
};

// What if: the verdict at every point of a grid, and each number along a single sweep.
charts.phases = (variation) => {
  const [across, up] = Object.keys(variation.sweeps);
  const cells = variation.points.map((point) => ({
    across: point.at[0],
    up: point.at[1],
    outcome: point.outcome,
  }));
  const color = {
    field: "outcome",
    type: "nominal",
    scale: { domain: Object.keys(OUTCOMES), range: Object.values(OUTCOMES) },
    legend: { title: null, values: [...new Set(cells.map((cell) => cell.outcome))] },
  };
  return {
    width: { step: 44 },
    height: { step: 30 },
    title: "Where the verdict flips",
    data: { values: cells },
    mark: { type: "rect", stroke: charts.dark() ? "#15171a" : "#ffffff" },
    encoding: {
      x: {
        field: "across",
        type: "ordinal",
        title: across,
        sort: variation.sweeps[across],
        axis: { labelAngle: 0 },
      },
      y: { field: "up", type: "ordinal", title: up, sort: [...variation.sweeps[up]].reverse() },
      color,
      tooltip: ["across", "up", "outcome"].map((field) => ({ field })),
    },
  };
};

charts.sweep = (variation, number) => {
  const [path] = Object.keys(variation.sweeps),
    values = variation.sweeps[path];
  const rows = variation.points
    .map((point) => ({ at: point.at[0], ...point.evidence[number] }))
    .filter((row) => row.ours !== null);
  const numeric = values.every((value) => value !== "" && Number.isFinite(Number(value)));
  for (const row of rows) if (numeric) row.at = Number(row.at);
  const logarithmic = numeric && values.every((value) => Number(value) > 0);
  const x = {
    field: "at",
    type: numeric ? "quantitative" : "ordinal",
    title: path,
    sort: values,
    scale: logarithmic ? { type: "log", base: 2 } : {},
    axis: numeric ? { values: values.map(Number), format: "~g" } : { labelAngle: 0 },
  };
  const y = (field) => ({
    field,
    type: "quantitative",
    title: null,
    axis: { format: ".2~g" },
    scale: { zero: false },
  });
  const color = {
    field: "outcome",
    type: "nominal",
    legend: null,
    scale: { domain: Object.keys(OUTCOMES), range: Object.values(OUTCOMES) },
  };
  const layer = [
    { mark: { type: "line", color: "#999999", strokeWidth: 1 }, encoding: { x, y: y("ours") } },
    {
      transform: [{ filter: "isValid(datum.low)" }],
      mark: { type: "rule", color: "#999999" },
      encoding: { x, y: y("low"), y2: { field: "high" } },
    },
    {
      mark: { type: "point", filled: true, size: 60 },
      encoding: {
        x,
        y: y("ours"),
        color,
        tooltip: ["at", "outcome", "ours", "low", "high"].map((field) => ({ field })),
      },
    },
  ];
  if (rows.length && rows[0].paper !== null)
    layer.push({
      data: { values: [rows[0]] },
      mark: { type: "rule", strokeDash: [3, 3], color: "#888888" },
      encoding: { y: y("paper") },
    });
  const title = rows.length ? rows[0].text : "";
  return { ...SMALL, title: { text: title, limit: 270 }, data: { values: rows }, layer };
};
