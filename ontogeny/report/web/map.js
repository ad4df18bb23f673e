// The map of a claim: where it is true.
"use strict";
// Where it is true: cells over the two settings that matter most, a smooth estimate behind them, theory dashed.
const FOUND = {
  holds: ["#2e9e4a", "circle"],
  fails: ["#d0483e", "cross"],
  open: ["#c98512", "diamond"],
  "did not train": ["#888888", "triangle-up"],
};

charts.map = ({ axes, cells, shade, theory, own }) => {
  const step = 1 / (shade.length - 1),
    clip = (place) => Math.min(1, Math.max(0, place));
  const tiles = shade.flatMap((row, j) =>
    row.map((holds, i) => ({
      x: clip((i - 0.5) * step),
      x2: clip((i + 0.5) * step),
      y: clip((j - 0.5) * step),
      y2: clip((j + 0.5) * step),
      holds,
    })),
  );
  const place = (field, { path, ticks }) => ({
    field,
    type: "quantitative",
    title: path,
    scale: { domain: [0, 1], nice: false },
    axis: {
      values: ticks.map(([at]) => at),
      labelExpr: `${JSON.stringify(ticks.map(([, text]) => text))}[indexof(${JSON.stringify(ticks.map(([at]) => at))}, datum.value)]`,
      grid: false,
    },
  });
  const [x, y] = [place("x", axes[0]), place("y", axes[1])],
    known = [...new Set(cells.map((cell) => cell.found))],
    dark = charts.dark();
  const layer = [
    {
      data: { values: tiles },
      mark: { type: "rect", opacity: 0.5 },
      encoding: {
        x,
        y,
        x2: { field: "x2" },
        y2: { field: "y2" },
        color: {
          field: "holds",
          type: "quantitative",
          legend: null,
          scale: {
            domain: [0, 0.5, 1],
            range: dark ? ["#7a2a24", "#202327", "#1f6b34"] : ["#f3c6c2", "#ffffff", "#c5e3c7"],
          },
        },
      },
    },
    ...theory.map((line) => ({
      data: { values: line.map(([a, b], order) => ({ x: a, y: b, order })) },
      mark: { type: "line", strokeDash: [5, 3], color: dark ? "#ffffff" : "#000000" },
      encoding: { x, y, order: { field: "order" } },
    })),
    {
      data: { values: cells },
      mark: { type: "point", filled: true, size: 55, opacity: 1 },
      encoding: {
        x,
        y,
        color: {
          field: "found",
          type: "nominal",
          scale: { domain: known, range: known.map((word) => FOUND[word][0]) },
          legend: { title: null },
        },
        shape: {
          field: "found",
          type: "nominal",
          scale: { domain: known, range: known.map((word) => FOUND[word][1]) },
          legend: null,
        },
        tooltip: ["found", "at"].map((field) => ({ field })),
      },
    },
  ];
  if (own)
    layer.push({
      data: { values: [{ x: own[0], y: own[1], at: "the claim's own setting" }] },
      mark: { type: "point", shape: "M0,-1L0.3,-0.4L1,-0.3L0.5,0.2L0.6,0.9L0,0.5L-0.6,0.9L-0.5,0.2L-1,-0.3L-0.3,-0.4Z", size: 200, strokeWidth: 1.5, color: dark ? "#ffffff" : "#000000" },
      encoding: { x, y, tooltip: [{ field: "at" }] },
    });
  return { width: 360, height: 260, layer, resolve: { scale: { color: "independent" } } };
};
