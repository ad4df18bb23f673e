// The playground: type an input, move through training, see the attention and the answer.
"use strict";
const playground = {};

const bars = (rows) => ({
  width: 200,
  height: { step: 14 },
  data: { name: "rows", values: rows },
  mark: { type: "bar" },
  encoding: {
    y: {
      field: "name",
      type: "nominal",
      sort: null,
      title: null,
      axis: { labelFont: "ui-monospace, monospace" },
    },
    x: {
      field: "probability",
      type: "quantitative",
      title: "probability of the next token",
      scale: { domain: [0, 1] },
      axis: { format: ".0%", tickCount: 5 },
    },
    tooltip: [{ field: "name" }, { field: "probability", format: ".4f" }],
  },
});

// An attention map: queries down, keys across.
const attentionMap = (rows, columns, title) => {
  const cell = Math.max(8, Math.min(17, 420 / columns.length)),
    names = (list) => `${JSON.stringify(list)}[datum.value]`;
  const axis = (list) => ({
    labelExpr: names(list),
    ticks: false,
    domain: false,
    labelAngle: 0,
    labelFont: "ui-monospace, monospace",
    labelFontSize: Math.min(11, cell),
    labelOverlap: false,
  });
  return {
    width: cell * columns.length,
    height: cell * rows.length,
    title,
    data: { name: "cells", values: [] },
    mark: { type: "rect" },
    encoding: {
      x: {
        field: "column",
        type: "ordinal",
        title: null,
        axis: {
          ...axis(columns),
          orient: "top",
          ...(columns.some((name) => name.length > 2)
            ? { labelAngle: -55, labelAlign: "left" }
            : {}),
        },
        scale: { domain: columns.map((_, k) => k) },
      },
      y: {
        field: "row",
        type: "ordinal",
        title: null,
        axis: axis(rows),
        scale: { domain: rows.map((_, k) => k) },
      },
      color: {
        field: "value",
        type: "quantitative",
        legend: null,
        scale: {
          domain: [0, 1],
          interpolate: "rgb",
          range: charts.dark() ? ["#1c1f23", "#8ab4f8"] : ["#ffffff", "#1b4b9c"],
        },
      },
      tooltip: [{ field: "from" }, { field: "to" }, { field: "value", format: ".3f" }],
    },
  };
};

const cellsOf = (attention, rows, columns) =>
  attention.flatMap((weights, row) =>
    weights.map((value, column) => ({ row, column, value, from: rows[row], to: columns[column] })),
  );
const shown = (sign) => ({ " ": "␣", "\n": "⏎" })[sign] ?? sign;
const mostLikely = (outputs, names, many = 8) =>
  models
    .softmax(outputs)
    .map((probability, index) => ({ probability, name: shown(names[index]) }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, many);

// ------------------------------------------------------------------------------- the models

// Each has an example input, a parser (or its error), and what there is to see of an answer.
playground.models = {
  InductionPair: {
    first: "a cold eq or the",
    hint: (model) =>
      `at most ${model.weights[0].positions.rows} characters; the triggers are ${model.triggers.map(shown).join(" ")}`,
    read: (model, text) => {
      const most = model.weights[0].positions.rows,
        tokens = [...text].map((sign) => model.tokens.indexOf(sign));
      if (!tokens.length) return { error: "Type a character." };
      if (tokens.length > most)
        return { error: `At most ${most} characters; these are ${tokens.length}.` };
      const unknown = [...text].find((_, index) => tokens[index] < 0);
      return unknown === undefined
        ? { asked: tokens }
        : { error: `Not in its vocabulary: ${unknown}.` };
    },
    see: (model, weights, tokens) => {
      const { outputs, attention } = models.InductionPair(weights, tokens),
        names = tokens.map((token) => shown(model.tokens[token]));
      const best = mostLikely(outputs[outputs.length - 1], model.tokens);
      return {
        says: ["After ", names[names.length - 1], " comes ", best[0].name],
        bars: best,
        maps: attention.map((each, layer) => ({
          title: layer ? "second layer: the induction head" : "first layer: the previous token",
          rows: names,
          columns: names,
          cells: cellsOf(each, names, names),
        })),
      };
    },
  },
  EmbeddingMLP: {
    first: "s3 r1 r2",
    hint: () => "a subject or a bridge and relations: s3 r1 · b3 r2 · s3 r1 r2 · b3",
    read: (model, text) => {
      const words = text
          .trim()
          .split(/[\s,]+/)
          .filter(Boolean),
        tokens = words.map((word) => model.tokens.indexOf(word.toLowerCase()));
      if (!tokens.length) return { error: "Type an input." };
      const unknown = words.find((_, index) => tokens[index] < 0);
      return unknown === undefined
        ? { asked: tokens }
        : {
            error: `Not in its vocabulary: ${unknown}; it has ${[...model.tokens].sort().join(" ")}.`,
          };
    },
    see: (model, weights, tokens) => {
      const { outputs } = models.EmbeddingMLP(weights, tokens),
        best = mostLikely(outputs, model.answers);
      const rows = model.tokens
        .map((name, token) => ({ name, token }))
        .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
      const columns = model.answers
        .map((name, answer) => ({ name, answer }))
        .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
      const logits = rows.map(({ token }) => models.EmbeddingMLP(weights, [token]).outputs),
        most = Math.max(...logits.flatMap((each) => [...each].map(Math.abs)), 1e-9);
      const scaled = logits.map((each) =>
        columns.map(({ answer }) => Math.max(0, each[answer]) / most),
      );
      const names = [rows.map((each) => each.name), columns.map((each) => each.name)];
      return {
        says: ["", tokens.map((token) => model.tokens[token]).join(" "), " is ", best[0].name],
        bars: best,
        maps: [
          {
            title: "positive logits of each token (down) for each answer (across)",
            rows: names[0],
            columns: names[1],
            cells: cellsOf(scaled, ...names),
          },
        ],
      };
    },
  },
  ClauseTransformer: {
    first: "a=2, b=a+3, c=b+1, d=c+5, e=d+4, f=e+2, g=f+3, h=g+1",
    hint: (model) =>
      `numbers from 0 to ${model.values - 1}, letters from a to ${model.variables[model.variables.length - 1]}; trained on chains of ${model.trained_length}`,
    read: (model, text) => {
      const predicates = [],
        seen = new Set();
      let start = null;
      for (const clause of text
        .toLowerCase()
        .split(/[,;\s]+/)
        .filter(Boolean)) {
        const [, made, of, number] = /^([a-z])=(?:([a-z])\+)?(\d+)$/.exec(clause) ?? [];
        if (made === undefined) return { error: `${clause} is neither like a=2 nor like b=a+3.` };
        const variable = model.variables.indexOf(made),
          value = Number(number);
        if (variable < 0 || (of && model.variables.indexOf(of) < 0))
          return { error: `Unknown variables in ${clause}.` };
        if (value >= model.values)
          return { error: `${clause}: numbers are below ${model.values}.` };
        if (seen.has(made)) return { error: `${made} is given twice.` };
        seen.add(made);
        if (of) predicates.push([variable, value, model.variables.indexOf(of)]);
        else if (start) return { error: "Give one initial value." };
        else start = [variable, value];
      }
      if (!start) return { error: "Give an initial value: a=2." };
      return predicates.length
        ? { asked: { predicates, start } }
        : { error: "Give a step: b=a+3." };
    },
    see: (model, weights, { predicates, start }) => {
      const name = (variable) => model.variables[variable],
        { answers, attention } = models.rollout(weights, predicates, start, model.heads);
      const truth = new Map([[start[0], start[1]]]);
      for (let turn = 0; turn < predicates.length; turn++)
        for (const [made, by, of] of predicates)
          if (truth.has(of)) truth.set(made, (truth.get(of) + by) % model.values);
      const written = answers.map(([variable, value]) => `${name(variable)}=${value}`),
        right = answers.map(([variable, value]) => truth.get(variable) === value);
      const columns = [
        ...predicates.map(([made, by, of]) => `${name(made)}=${name(of)}+${by}`),
        ...written.slice(0, -1),
      ];
      const first = right.findIndex((each) => !each);
      return {
        says: [
          "It writes ",
          written.map((each, index) => (right[index] ? each : `${each} ✗`)).join(" → "),
          first < 0 ? ", all right" : `, wrong from step ${first} on`,
          "",
        ],
        maps: [
          {
            title: "attention of each answer (down) to the clauses (across)",
            rows: written.slice(0, -1),
            columns,
            cells: cellsOf(attention, written.slice(0, -1), columns),
          },
        ],
      };
    },
  },
};

// ------------------------------------------------------------------------------- one model in the page

playground.fill = async (article) => {
  const { title, says, data } = playground.data[article.dataset.model],
    model = await models.read(data),
    ask = playground.models[model.is];
  const input = lab.element("input", {
    type: "text",
    value: ask.first,
    "aria-label": `input of ${title}`,
    spellcheck: "false",
    autocomplete: "off",
  });
  input.style.width = "min(34rem, 100%)";
  input.style.fontFamily = "ui-monospace, monospace";
  const output = lab.element("p", { class: "says", "aria-live": "polite" }),
    figures = lab.element("div", { class: "charts" });
  let shape = "",
    updates = [],
    seen = null;
  const answer = () => {
    const { asked, error } = ask.read(model, input.value);
    if (error) {
      output.replaceChildren(lab.element("span", { class: "failed", text: error }));
      return;
    }
    seen = ask.see(model, model.weights[slider.evaluation()], asked);
    const [before, what, between, best] = seen.says;
    output.replaceChildren(
      before,
      lab.element("b", { text: what }),
      between,
      lab.element("b", { text: best }),
    );
    const now = JSON.stringify([
      seen.maps.map(({ rows, columns }) => [rows, columns]),
      Boolean(seen.bars),
    ]);
    if (now !== shape) {
      shape = now;
      const made = seen.maps.map(({ rows, columns, title: name }, index) =>
        charts.draw(attentionMap(rows, columns, name), `${name} of ${title}`, () => ({
          cells: seen.maps[index].cells,
        })),
      );
      if (seen.bars)
        made.unshift(
          charts.draw(bars([]), `the most likely answers of ${title}`, () => ({ rows: seen.bars })),
        );
      updates = made.map((each) => each.update);
      figures.replaceChildren(...made.map((each) => each.figure));
    } else updates.forEach((update) => update());
  };
  const listeners = [],
    slider = page.slider(model.steps, listeners);
  listeners.push(answer);
  input.addEventListener("input", answer);
  document.addEventListener("theme", () => {
    shape = "";
    answer();
  });
  article.append(
    lab.element("h3", { text: title }),
    lab.element("p", { class: "soft", text: says }),
    lab.element(
      "div",
      { class: "row" },
      input,
      lab.element("span", { class: "soft", text: ask.hint(model) }),
    ),
    slider.row,
    output,
    figures,
  );
  answer();
};

playground.start = () => {
  playground.data = JSON.parse(document.getElementById("models").textContent);
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (entry.isIntersecting) {
          observer.unobserve(entry.target);
          playground.fill(entry.target).catch((error) => {
            entry.target.textContent = `This model cannot be read: ${error.message}`;
            console.error(error);
          });
        }
    },
    { rootMargin: "300px" },
  );
  document.querySelectorAll("article.playground").forEach((article) => {
    article.style.minHeight = "12rem";
    observer.observe(article);
  });
};
