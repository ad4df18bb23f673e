// The laboratory's models, in the page: the same numbers from the same weights.
"use strict";
const models = {};

// ------------------------------------------------------------------------------- small linear algebra

// A matrix: its rows one after the other.
const matrix = (values, rows, columns) => ({ values, rows, columns });
const row = ({ values, columns }, index) => values.subarray(index * columns, (index + 1) * columns);
const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
const add = (...vectors) =>
  Float64Array.from(vectors[0], (_, i) => vectors.reduce((sum, vector) => sum + vector[i], 0));
const times = (vector, m) => {
  // x M
  const found = new Float64Array(m.columns);
  for (let i = 0; i < m.rows; i++) {
    const x = vector[i],
      at = i * m.columns;
    if (x) for (let j = 0; j < m.columns; j++) found[j] += x * m.values[at + j];
  }
  return found;
};
const acted = (m, vector) =>
  Float64Array.from({ length: m.rows }, (_, i) => dot(row(m, i), vector)); // M x
const relu = (vector) => vector.map((x) => Math.max(0, x));
models.softmax = (scores) => {
  const most = Math.max(...scores),
    grown = Array.from(scores, (x) => Math.exp(x - most)),
    whole = grown.reduce((a, b) => a + b, 0);
  return grown.map((x) => x / whole);
};
const mixed = (weights, vectors) =>
  vectors[0].map((_, i) => weights.reduce((sum, w, k) => sum + w * vectors[k][i], 0));
const argmax = (values) =>
  values.reduce((best, value, index) => (value > values[best] ? index : best), 0);

// ------------------------------------------------------------------------------- the models

// Two layers of attention whose queries are as they are: models/induction.py.
models.InductionPair = (w, tokens) => {
  const width = w.tokens.columns,
    scale = Math.sqrt(width);
  const x = tokens.map((token, index) => add(row(w.tokens, token), row(w.positions, index)));
  const attend = (stream, key) =>
    stream.map((here, index) => {
      const asked = times(here, key);
      return models.softmax(stream.slice(0, index + 1).map((there) => dot(asked, there) / scale));
    });
  const move = (out, value, vector) => acted(out, acted(value, vector));
  const first = attend(x, w.key1),
    carried = x.map((each) => move(w.out1, w.value1, each));
  const stream = x.map((each, index) =>
    add(each, mixed(first[index], carried.slice(0, index + 1))),
  );
  const second = attend(stream, w.key2);
  const outputs = stream.map((each, index) =>
    acted(
      w.unembed,
      add(each, move(w.out2, w.value2, mixed(second[index], stream.slice(0, index + 1)))),
    ),
  );
  return { outputs, attention: [first, second] };
};

// The sum of the tokens' embeddings, projected: models/embedding_mlp.py.
models.EmbeddingMLP = (w, tokens) => ({
  outputs: times(add(...tokens.map((token) => row(w.embed, token))), w.project),
});

// One layer whose tokens are clauses, with a residual stream: models/clauses.py.
models.ClauseTransformer = (w, predicates, answers, heads) => {
  const width = w.query.rows,
    part = width / heads;
  const clauses = [
    ...predicates.map(([made, action, of]) =>
      add(row(w.made, made), row(w.action, action), row(w.of, of)),
    ),
    ...answers.map(([variable, value]) => add(row(w.variable, variable), row(w.value, value))),
  ];
  const keys = clauses.map((clause) => times(clause, w.key)),
    values = clauses.map((clause) => times(clause, w.values));
  const variables = w.variable.rows,
    found = { outputs: [], attention: [], answers: [] };
  answers.forEach((_, number) => {
    const index = predicates.length + number,
      here = clauses[index],
      asked = times(here, w.query),
      mix = new Float64Array(width),
      evaluations = [];
    for (let head = 0; head < heads; head++) {
      const cut = (vector) => vector.subarray(head * part, (head + 1) * part);
      const weights = models.softmax(
        keys.slice(0, index + 1).map((key) => dot(cut(asked), cut(key)) / Math.sqrt(part)),
      );
      mix.set(mixed(weights, values.slice(0, index + 1).map(cut)), head * part);
      evaluations.push(weights);
    }
    const stream = add(here, times(mix, w.out)),
      wide = relu(add(times(stream, w.mlp_in), w.mlp_in_bias.values));
    const after = add(stream, times(wide, w.mlp_out), w.mlp_out_bias.values),
      outputs = times(after, w.unembed);
    found.outputs.push(outputs);
    found.attention.push(
      evaluations[0].map(
        (__, clause) => evaluations.reduce((sum, weights) => sum + weights[clause], 0) / heads,
      ),
    );
    found.answers.push([
      argmax(outputs.subarray(0, variables)),
      argmax(outputs.subarray(variables)),
    ]);
  });
  return found;
};

// The model left to itself: it reads each answer that it wrote.
models.rollout = (w, predicates, start, heads) => {
  const answers = [start];
  let found = null;
  for (let step = 0; step < predicates.length; step++) {
    found = models.ClauseTransformer(w, predicates, answers, heads);
    answers.push(found.answers[step]);
  }
  return { answers, attention: found.attention };
};

// ------------------------------------------------------------------------------- their weights

// By look: matrices by name. What does not change in training is there once.
models.read = async (text) => {
  const { header, numbers } = await lab.unpack(text);
  return {
    ...header,
    weights: header.steps.map((_, evaluation) =>
      Object.fromEntries(
        header.parts.map(({ name, rows, columns, at, fixed }) => {
          const size = rows * columns,
            begin = at + (fixed ? 0 : evaluation * size);
          return [name, matrix(numbers.subarray(begin, begin + size), rows, columns)];
        }),
      ),
    ),
  };
};
