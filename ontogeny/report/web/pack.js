// Runs as the page carries them: a header of JSON, then numbers of 32 bits.
"use strict";
const lab = { facts: JSON.parse(document.getElementById("facts").textContent), runs: new Map() };

lab.unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const whole = await new Response(stream).arrayBuffer();
  const length = new DataView(whole).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)));
  return { header, numbers: new Float32Array(whole, 4 + length) };
};

// A run: by probe its steps, its shape (seed, evaluation, ...) and its numbers. Null if there is nothing yet.
lab.read = async (text) => {
  if (!text) return null;
  const { header, numbers } = await lab.unpack(text);
  for (const probe of Object.values(header.probes)) {
    const size = probe.shape.reduce((a, b) => a * b, 1);
    probe.values = numbers.subarray(probe.at, probe.at + size);
  }
  return header;
};

lab.run = (name) => {
  if (!lab.runs.has(name)) {
    const carried = document.getElementById(`run-${name}`);
    const text = carried ? Promise.resolve(carried.textContent) : lab.fetched(name);
    lab.runs.set(name, text.then(lab.read));
  }
  return lab.runs.get(name);
};

lab.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};
