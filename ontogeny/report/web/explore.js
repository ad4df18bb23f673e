// The explorer: what runs now, any two runs compared, and sweeps.
"use strict";
const explore = { written: {}, said: "" };

// A cookie authenticates; the header shows that no page of another site asks.
explore.ask = async (path, body) => {
  const how =
    body === undefined
      ? {}
      : {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Ontogeny": "1" },
          body: JSON.stringify(body),
        };
  const answer = await fetch(path, how);
  if (answer.ok) return answer;
  let problem = answer.statusText;
  try {
    problem = (await answer.json()).error;
  } catch {
    /* not ours */
  }
  throw new Error(problem);
};
// A command as one can paste it: a shell takes whatever else there is apart.
explore.typed = (words) =>
  ["ontogeny", ...words]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`))
    .join(" ");
lab.fetched = async (query) => (await explore.ask(`/api/run?${query}`)).text();

// ------------------------------------------------------------------------------- what runs

const bar = (fraction, label) =>
  lab.element("progress", { max: 1, value: fraction, "aria-label": label });

explore.show = ({ works, started }) => {
  const rows = works.map((work) => {
    const units = work.units.map((unit) => {
      const claim = unit.label.split(":")[0],
        name = document.getElementById(claim)
          ? lab.element("a", { href: `#${claim}`, text: unit.label })
          : unit.label;
      return lab.element(
        "li",
        {},
        bar(unit.step / Math.max(1, unit.steps), unit.label),
        " ",
        name,
        " ",
        lab.element("span", { class: "soft", text: unit.news }),
      );
    });
    return lab.element(
      "div",
      {},
      lab.element(
        "p",
        {},
        bar(work.fraction, "all of it"),
        ` ${Math.round(100 * work.fraction)} %, ${work.left} left: `,
        lab.element("code", { text: explore.typed(work.words) }),
      ),
      lab.element("ul", {}, ...units),
    );
  });
  if (started) {
    const failed = !started.running && started.code !== 0,
      words = lab.element("code", { text: explore.typed(started.words) });
    const state = started.running
      ? "is running"
      : started.code === 0
        ? "is done"
        : started.code === 130
          ? "was stopped"
          : "failed";
    const line = lab.element(
      "p",
      { class: failed && started.code !== 130 ? "failed" : "" },
      "Your command ",
      words,
      ` ${state}. `,
    );
    if (started.running)
      line.append(
        lab.element("button", {
          type: "button",
          text: "stop",
          onclick: () => explore.ask("/api/stop", {}).catch((error) => alert(error.message)),
        }),
      );
    rows.push(line);
    if (failed) rows.push(lab.element("pre", { text: started.output.join("\n") }));
  }
  const box = $("working"),
    said = rows.map((row) => row.outerHTML).join("");
  if (said === explore.said) return;
  explore.said = said;
  box.replaceChildren(
    ...(rows.length
      ? rows
      : [lab.element("p", { class: "soft", text: "Nothing is running in this store." })]),
  );
};

// A claim whose verdict or sweeps are new gets a new section; the table follows.
explore.renew = async (id) => {
  const old = $(id);
  if (!old) return;
  const { claim, scale } = old.dataset,
    text = await (
      await explore.ask(`/api/section?${new URLSearchParams({ claim, scale })}`)
    ).text();
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("section");
  for (const name of Object.values(JSON.parse(fresh.dataset.runs))) lab.runs.delete(name);
  old.replaceWith(document.adoptNode(fresh));
  const row = document.querySelector(`#verdicts tr[data-id="${CSS.escape(id)}"]`),
    badge = fresh.querySelector("h2 .o");
  if (row && badge) {
    row.dataset.outcome = badge.className.replace("o ", "");
    row.cells[0].className = badge.className;
    row.cells[0].textContent = badge.textContent;
    page.filter();
  }
  if (location.hash === `#${id}`) page.route();
};

explore.idOf = (key) => {
  const [, claim, scale] = /^verdicts\/(.*)\.(\w+)$/.exec(key) ?? [];
  return claim && (scale === "laptop" ? claim : `${claim}.${scale}`);
};

explore.follow = async () => {
  try {
    const state = await (await explore.ask("/api/state")).json();
    explore.show(state);
    const news = Object.keys(state.written).filter(
        (key) => explore.written[key] !== state.written[key],
      ),
      seen = explore.asked;
    explore.written = state.written;
    explore.asked = true;
    if (seen) {
      for (const id of news.map(explore.idOf).filter(Boolean)) await explore.renew(id);
      if (news.some((key) => /^(sweeps|maps)\//.test(key))) {
        const open = document.querySelector("section.claim.open");
        if (open) await explore.renew(open.id);
      }
    }
    await explore.grow(state);
  } catch (error) {
    $("working").replaceChildren(
      lab.element("p", {
        class: "failed",
        text: `The server does not answer: ${error.message}`,
      }),
    );
    explore.said = "";
  }
  setTimeout(explore.follow, document.hidden ? 4000 : 1000);
};

// The curves of the open claim, while it runs, as far as its checkpoints are.
explore.grow = async ({ works }) => {
  const open = document.querySelector("section.claim.open");
  if (!open || Date.now() - (explore.grown ?? 0) < 3000) return;
  const names = works.flatMap((work) => work.units.map((unit) => unit.label)),
    runs = JSON.parse(open.dataset.runs);
  if (
    !names.some((label) => label.startsWith(`${open.dataset.claim}: `)) &&
    !works.some((work) => work.words.includes(open.dataset.claim) && work.words[0] === "judge")
  )
    return;
  explore.grown = Date.now();
  const found = await Promise.all(
      Object.entries(runs).map(async ([name, query]) => [
        name,
        await lab.read(await lab.fetched(query)),
      ]),
    ),
    read = found.filter(([, run]) => run);
  const box = open.querySelector(".figures");
  if (read.length && box)
    box.replaceChildren(
      lab.element("p", { class: "soft", role: "status", text: "Running: these curves are updated." }),
      ...page.curves(read),
    );
};

// ------------------------------------------------------------------------------- sweeps

explore.form = (section) => {
  if (section.querySelector(":scope > form.sweep") || !section.dataset.fields) return;
  const fields = JSON.parse(section.dataset.fields),
    { claim, scale } = section.dataset;
  if (!Object.keys(fields).length) return;
  const select = (name) =>
    lab.element(
      "select",
      { name, "aria-label": name === "path" ? "setting to sweep" : "second setting" },
      lab.element("option", { value: "", text: name === "path" ? "a setting" : "no second setting" }),
      ...Object.entries(fields).map(([path, { value }]) =>
        lab.element("option", { value: path, text: `${path} (${value})` }),
      ),
    );
  const meaningOf = (path) => lab.facts.meanings[fields[path]?.of]?.[path.split(".").pop()];
  const meaning = lab.element("p", { class: "soft meaning" });
  const values = (name) =>
    lab.element("input", {
      name,
      type: "text",
      placeholder: "values: a, b, c",
      "aria-label": "values, separated by commas",
    });
  const seeds = lab.element("input", {
    name: "seeds",
    type: "number",
    min: 1,
    max: 1000,
    placeholder: "as judged",
    "aria-label": "seeds",
  });
  seeds.style.width = "6rem";
  const status = lab.element("output");
  const form = lab.element(
    "form",
    { class: "row sweep", "aria-label": "Sweep" },
    lab.element("strong", { text: "Sweep" }),
    select("path"),
    values("values"),
    select("path2"),
    values("values2"),
    lab.element("label", {}, "seeds ", seeds),
    lab.element("button", { name: "sweep", text: "run" }),
    lab.element("button", { name: "judge", type: "button", text: "judge unchanged" }),
    status,
    meaning,
  );
  form.addEventListener("change", () => {
    const told = [form.elements.path.value, form.elements.path2.value].filter(meaningOf);
    meaning.replaceChildren(
      ...told.flatMap((path) => [lab.element("code", { text: path }), ` ${meaningOf(path)} `]),
    );
  });
  const start = async (sweep) => {
    try {
      const { words } = await (
        await explore.ask("/api/start", {
          claim,
          scale,
          sweep,
          seeds: seeds.value ? Number(seeds.value) : null,
        })
      ).json();
      status.className = "soft";
      status.textContent = `started: ${explore.typed(words)}`;
    } catch (error) {
      status.className = "failed";
      status.textContent = error.message;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(form));
    if (!given.path || !given.values.trim()) {
      status.className = "failed";
      status.textContent = "Choose a setting and give it values.";
      return;
    }
    const sweep = [
      [given.path, given.values],
      [given.path2, given.values2],
    ]
      .filter(([path]) => path)
      .map(([path, text]) => `${path}=${text}`);
    start(sweep);
  });
  form.elements.judge.addEventListener("click", () => start([]));
  section.querySelector("blockquote").after(form);
};

// ------------------------------------------------------------------------------- comparing two runs

explore.compare = async () => {
  const form = $("compare"),
    known = await (await explore.ask("/api/runs")).json();
  const label = (run) =>
    [run.claim.replaceAll("_", " "), run.name, run.scale === "laptop" ? "" : run.scale, ...run.set]
      .filter(Boolean)
      .join(" · ");
  const query = (run) => {
    const asked = new URLSearchParams({ claim: run.claim, scale: run.scale, name: run.name });
    run.set.forEach((change) => asked.append("set", change));
    return asked.toString();
  };
  for (const name of ["one", "other"])
    form.elements[name].replaceChildren(
      ...known.map((run, index) => lab.element("option", { value: index, text: label(run) })),
    );
  if (known.length > 1) form.elements.other.selectedIndex = 1;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = ["one", "other"].map((name) => known[form.elements[name].value]).filter(Boolean),
      box = $("compared");
    try {
      const runs = await Promise.all(
        chosen.map(async (run) => [label(run), await lab.read(await lab.fetched(query(run)))]),
      );
      if (!runs.every(([, run]) => run))
        throw new Error("One of them has no results in the store yet.");
      const lines = runs.map(([, run]) => run.outline.split("\n")),
        alone = lines.map((own, index) => own.filter((line) => !lines[1 - index].includes(line)));
      const differ = alone.map((own, index) =>
        lab.element(
          "details",
          { open: "" },
          lab.element("summary", { text: `only in ${runs[index][0]}` }),
          lab.element("pre", { text: own.join("\n") || "nothing" }),
        ),
      );
      box.replaceChildren(page.runs(runs), ...differ);
    } catch (error) {
      box.replaceChildren(lab.element("p", { class: "failed", text: error.message }));
    }
  });
};

const routed = page.route;
page.route = () => {
  routed();
  const open = document.querySelector("section.claim.open");
  if (open) explore.form(open);
};
page.route();
explore.follow();
explore
  .compare()
  .catch((error) =>
    $("compared").replaceChildren(lab.element("p", { class: "failed", text: error.message })),
  );
