// How pictures are drawn: colours, Vega views, legends.
"use strict";
const charts = {};
const COLOURS = [
  "#4c78a8",
  "#f58518",
  "#54a24b",
  "#e45756",
  "#72b7b2",
  "#b279a2",
  "#9d755d",
  "#eeca3b",
  "#79706e",
  "#ff9da6",
];
const BRIGHT = [
  "#8ab4f8",
  "#ffb074",
  "#8fd18a",
  "#f28b82",
  "#9adbd6",
  "#d7aefb",
  "#d0a98f",
  "#fdd663",
  "#b5b0ad",
  "#ffc4cb",
]; // on dark
const OUTCOMES = {
  supported: "#2e9e4a",
  contradicted: "#d0483e",
  depends: "#8e5bb5",
  undecided: "#c98512",
  untested: "#888888",
};

charts.dark = () => document.documentElement.classList.contains("dark");
charts.colour = (number) => (charts.dark() ? BRIGHT : COLOURS)[number % COLOURS.length];

const config = () => {
  const ink = charts.dark() ? "#d6d8db" : "#33363b";
  const line = charts.dark() ? "#3a3d42" : "#e3e5e8";
  const plain = {
    labelColor: ink,
    titleColor: ink,
    gridColor: line,
    domainColor: line,
    tickColor: line,
    titleFontWeight: "normal",
  };
  return {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: { ...plain, labelFontSize: 10, titleFontSize: 10, gridOpacity: 0.6 },
    legend: { ...plain, labelFontSize: 10, titleFontSize: 10 },
    title: { color: ink, fontSize: 11, fontWeight: "normal", anchor: "start" },
    text: { fill: ink },
  };
};

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
    const compiled = vegaLite.compile(
      { ...spec, autosize: { type: "pad" } },
      { config: config() },
    ).spec;
    view = new vega.View(vega.parse(compiled, null, { ast: true }), {
      expr: vega.expressionInterpreter,
      renderer: "canvas",
      container: figure,
      hover: true,
    });
    update();
    await view.runAsync();
  };
  const seen = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      show().catch((error) => {
        figure.textContent = `This figure cannot be drawn: ${error.message}`;
        console.error(error);
      });
    },
    { rootMargin: "300px" },
  );
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
    sign.style.borderTopColor = colour;
    sign.style.borderTopStyle = style;
    return lab.element("span", {}, sign, name);
  };
  const chips = names.map((name, number) => chip(name, "solid", charts.colour(number)));
  return lab.element(
    "div",
    { class: "legend" },
    ...chips,
    ...extra.map(([name, style]) => chip(name, style, "currentColor")),
  );
};
