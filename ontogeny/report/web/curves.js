// Pictures over training and over settings, as Vega-Lite specifications.
"use strict";
const PREDICTED = "predicted ";
const SMALL = { width: 250, height: 130 };

// ------------------------------------------------------------------------------- numbers of a run

const at = (probe, seed, evaluation, inner = 0) => {
  const size = probe.shape.slice(2).reduce((a, b) => a * b, 1);
  return probe.values[(seed * probe.shape[1] + evaluation) * size + inner];
};

const interval = (values) => {
  const known = values.filter(Number.isFinite),
    n = known.length;
  const mean = known.reduce((a, b) => a + b, 0) / n;
  const spread = Math.sqrt(known.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1));
  const half = n > 1 ? ((lab.facts.quantiles[n - 2] ?? 1.96) * spread) / Math.sqrt(n) : 0;
  return { mean, low: mean - half, high: mean + half };
};

// The first evaluation at which a curve is half way from where it begins to where it ends.
charts.halfway = (steps, values) => {
  const known = values.filter(Number.isFinite),
    last = known[known.length - 1],
    first = values[0];
  const spread = Math.max(...known) - Math.min(...known);
  if (known.length < 3 || !(Math.abs(last - first) > 0.5 * spread) || spread < 1e-6) return null;
  const level = (first + last) / 2,
    index = values.findIndex((v) => (last > first ? v >= level : v <= level));
  return index < 0 ? null : { step: steps[index], value: values[index] };
};

const seedsOf = (probe) => [...Array(probe.shape[0]).keys()];
const curveOf = (probe, seed) => probe.steps.map((_, evaluation) => at(probe, seed, evaluation));

// ------------------------------------------------------------------------------- specifications

const steps = (logarithmic) => ({
  field: "step",
  type: "quantitative",
  title: "steps",
  scale: logarithmic ? { type: "symlog" } : {},
  axis: { tickCount: 4, format: "~s" },
});

// A probe over training: a line per experiment, a band over seeds, thin seeds, theory dotted, and where it is half way.
charts.curve = (runs, name, logarithmic) => {
  const thin = [],
    mean = [],
    predicted = [],
    half = [];
  runs.forEach(([run, { probes }], number) => {
    const colour = charts.colour(number),
      probe = probes[name],
      theory = probes[PREDICTED + name];
    if (probe) {
      for (const seed of seedsOf(probe)) {
        curveOf(probe, seed).forEach((value, evaluation) =>
          thin.push({ run, seed, colour, step: probe.steps[evaluation], value }),
        );
      }
      const middle = probe.steps.map((_, evaluation) =>
        interval(seedsOf(probe).map((seed) => at(probe, seed, evaluation))),
      );
      middle.forEach((value, evaluation) =>
        mean.push({ run, colour, step: probe.steps[evaluation], ...value }),
      );
      const passed = charts.halfway(
        probe.steps,
        middle.map((value) => value.mean),
      );
      if (passed) half.push({ run, colour, ...passed });
    }
    if (theory) {
      theory.steps.forEach((step, evaluation) =>
        predicted.push({
          run,
          colour,
          step,
          value: interval(seedsOf(theory).map((seed) => at(theory, seed, evaluation))).mean,
        }),
      );
    }
  });
  const values = thin.map((row) => row.value).filter(Number.isFinite);
  const least = Math.min(...values),
    most = Math.max(...values);
  const loss = name.includes("loss") && least > 0;
  const room = 0.04 * (most - least || 1);
  const scale = loss
    ? { type: "log" }
    : least >= -0.2 && most <= 1.0001
      ? { domain: [Math.min(0, least), 1] }
      : { domain: [least - room, most + room], nice: false };
  const y = (field) => ({
    field,
    type: "quantitative",
    title: null,
    scale: { ...scale, clamp: !loss },
    axis: { tickCount: 4 },
  });
  const colour = { field: "colour", type: "nominal", scale: null };
  const x = steps(logarithmic);
  const layer = [
    {
      data: { values: thin },
      mark: { type: "line", strokeWidth: 0.7, opacity: 0.35 },
      encoding: { x, y: y("value"), color: colour, detail: [{ field: "run" }, { field: "seed" }] },
    },
    {
      data: { values: mean },
      mark: { type: "line", strokeWidth: 2 },
      encoding: { x, y: y("mean"), color: colour, detail: { field: "run" } },
    },
    {
      data: { values: mean },
      mark: { type: "point", size: 60, opacity: 0, filled: true },
      encoding: {
        x,
        y: y("mean"),
        color: colour,
        tooltip: ["run", "step", "mean", "low", "high"].map((field) => ({
          field,
          format: field === "run" ? undefined : ".4~g",
        })),
      },
    },
    {
      data: { values: predicted },
      mark: { type: "line", strokeWidth: 1.6, strokeDash: [2, 3] },
      encoding: { x, y: y("value"), color: colour, detail: { field: "run" } },
    },
    {
      data: { values: half },
      mark: { type: "point", size: 38, filled: true, shape: "circle" },
      encoding: {
        x,
        y: y("value"),
        color: colour,
        tooltip: [{ field: "run" }, { field: "step", title: "half way at step" }],
      },
    },
  ];
  if (!loss)
    layer.splice(1, 0, {
      data: { values: mean },
      mark: { type: "area", opacity: 0.13, clip: true },
      encoding: { x, y: y("low"), y2: { field: "high" }, color: colour, detail: { field: "run" } },
    });
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
        if (passed)
          rows.push({ run, probe: name, seed, colour: charts.colour(number), step: passed.step });
      }
    }
  });
  if (new Set(rows.map((row) => row.probe)).size < 2) return null;
  const x = {
    ...steps(logarithmic),
    title: "step at which it is half way from its first value to its last",
  };
  const y = {
    field: "probe",
    type: "nominal",
    title: null,
    sort: { field: "step", op: "mean" },
    axis: { labelLimit: 190, grid: true },
  };
  const color = { field: "colour", type: "nominal", scale: null };
  return {
    width: 420,
    height: { step: 15 },
    data: { values: rows },
    title: "What emerges first",
    layer: [
      {
        mark: { type: "tick", opacity: 0.6, thickness: 1.2 },
        encoding: {
          x,
          y,
          color,
          tooltip: ["run", "probe", "seed", "step"].map((field) => ({ field })),
        },
      },
      {
        mark: { type: "point", filled: true, size: 36 },
        encoding: { x: { ...x, aggregate: "mean" }, y, color, detail: { field: "run" } },
      },
    ],
  };
};

// Points of curves with intervals; the paper's are diamonds, dashed, what theory predicts is dotted.
charts.against = (points, trained_length) => {
  const names = [...new Set(points.map((point) => point.series))];
  const rows = points.map((point) => ({
    ...point,
    colour: charts.colour(names.indexOf(point.series)),
  }));
  const ours = rows.filter((row) => !row.theory),
    predicted = rows.filter((row) => row.theory);
  const papers = ours.filter((row) => row.paper !== null);
  const each = ours.flatMap((row) => (row.each ?? []).map((value) => ({ ...row, value })));
  const positive = rows.every((row) => row.x > 0);
  const x = {
    field: "x",
    type: "quantitative",
    title: null,
    scale: positive ? { type: "log", base: 2 } : { zero: false },
    axis: {
      values: [...new Set(rows.map((row) => row.x))],
      labelOverlap: true,
      grid: false,
      format: "~s",
    },
  };
  const known = [
    ...rows.map((row) => row.ours),
    ...papers.map((row) => row.paper),
    ...each.map((row) => row.value),
  ].filter(Number.isFinite);
  const share = known.every((value) => value >= 0 && value <= 1); // of all that is asked
  const least = share ? 0 : Math.min(...known),
    most = share ? 1 : Math.max(...known),
    room = 0.04 * (most - least || 1);
  const y = (field) => ({
    field,
    type: "quantitative",
    title: null,
    scale: { domain: [least - room, most + room], nice: false },
  });
  const color = { field: "colour", type: "nominal", scale: null },
    detail = { field: "series" };
  const line = (values, field, mark) => ({
    data: { values },
    mark: { type: "line", ...mark },
    encoding: { x, y: y(field), color, detail },
  });
  const layer = [
    line(predicted, "ours", { strokeDash: [2, 3], strokeWidth: 1.8 }),
    line(papers, "paper", { strokeDash: [6, 3], strokeWidth: 1, opacity: 0.8 }),
    {
      data: { values: papers },
      mark: { type: "point", shape: "diamond", size: 50 },
      encoding: { x, y: y("paper"), color },
    },
    {
      data: { values: ours.filter((row) => row.low !== null) },
      mark: { type: "rule", opacity: 0.5, clip: true },
      encoding: { x, y: y("low"), y2: { field: "high" }, color },
    },
    {
      data: { values: each },
      mark: { type: "tick", orient: "horizontal", size: 7, opacity: 0.6, thickness: 1 },
      encoding: { x, y: y("value"), color },
    },
    line(ours, "ours", { strokeWidth: 2 }),
    {
      data: { values: ours },
      mark: { type: "point", filled: true, size: 40 },
      encoding: {
        x,
        y: y("ours"),
        color,
        tooltip: [
          { field: "own", title: "curve" },
          ...["x", "ours", "low", "high", "paper"].map((field) => ({ field, format: ".4~g" })),
        ],
      },
    },
  ];
  if (trained_length !== undefined && rows.some((row) => row.x === trained_length)) {
    const here = { data: { values: [{ x: trained_length }] } };
    layer.push({
      ...here,
      mark: { type: "rule", strokeDash: [3, 3], opacity: 0.6, color: "#888888" },
      encoding: { x },
    });
    layer.push({
      ...here,
      mark: { type: "text", align: "left", dx: 4, y: 232, text: "trained length", fontSize: 10 },
      encoding: { x },
    });
  }
  return {
    spec: { width: 440, height: 240, layer: layer.filter(({ data }) => data.values.length) },
    names,
    papers: papers.length > 0,
    predicted: predicted.length > 0,
  };
};
