// The page: its colours, its table, and one claim at a time.
"use strict";
// ------------------------------------------------------------------------------- light and dark

page.theme = (dark) => {
  document.documentElement.classList.toggle("dark", dark);
  charts.redraw();
  document.dispatchEvent(new Event("theme")); // for what has colours of its own
};
const remembered = () => {
  try {
    return localStorage.getItem("ontogeny-theme");
  } catch {
    return null;
  }
};
const system = matchMedia("(prefers-color-scheme: dark)");
page.theme(remembered() ? remembered() === "dark" : system.matches);
system.addEventListener("change", () => {
  if (!remembered()) page.theme(system.matches);
});
$("theme").addEventListener("click", () => {
  page.theme(!charts.dark());
  try {
    localStorage.setItem("ontogeny-theme", charts.dark() ? "dark" : "light");
  } catch {
    /* a page from a file may have no storage */
  }
});

// ------------------------------------------------------------------------------- filter and sort

page.filter = () => {
  const form = $("filter");
  if (!form) return;
  const { text, paper, outcome, scale } = Object.fromEntries(new FormData(form));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean),
    rows = [...$("verdicts").tBodies[0].rows];
  let shown = 0;
  for (const row of rows) {
    const said = `${row.textContent} ${row.dataset.id}`.toLowerCase();
    const fits =
      words.every((word) => said.includes(word)) &&
      [
        [paper, "paper"],
        [outcome, "outcome"],
        [scale, "scale"],
      ].every(([asked, key]) => !asked || row.dataset[key] === asked);
    row.hidden = !fits;
    shown += fits;
  }
  $("shown").textContent =
    shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
};

page.sort = (column) => {
  const heads = [...$("verdicts").tHead.rows[0].cells],
    body = $("verdicts").tBodies[0];
  const up = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head, index) =>
    index === column
      ? head.setAttribute("aria-sort", up ? "ascending" : "descending")
      : head.removeAttribute("aria-sort"),
  );
  const key = (row) => row.cells[column].textContent.trim();
  body.append(
    ...[...body.rows].sort(
      (a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), undefined, { numeric: true }),
    ),
  );
};

if ($("filter")) {
  $("filter").addEventListener("input", page.filter);
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  document
    .querySelectorAll("button.sort")
    .forEach((button, column) => button.addEventListener("click", () => page.sort(column)));
  page.filter();
}

// ------------------------------------------------------------------------------- one claim at a time

// `#a_claim` shows that claim alone; without, there is the table.
page.route = () => {
  const asked = $(decodeURIComponent(location.hash.slice(1))),
    open = asked?.classList.contains("claim") ? asked : null;
  document.body.classList.toggle("one", Boolean(open));
  document
    .querySelectorAll("section.claim")
    .forEach((section) => section.classList.toggle("open", section === open));
  document.title = open ? `Ontogeny: ${open.dataset.claim.replaceAll("_", " ")}` : "Ontogeny";
  if (!open) {
    if (asked) asked.scrollIntoView();
    return;
  }
  const ids = [...$("verdicts").tBodies[0].rows]
      .filter((row) => !row.hidden)
      .map((row) => row.dataset.id),
    index = ids.indexOf(open.id);
  const link = (text, id) =>
    id ? lab.element("a", { href: `#${id}`, text }) : lab.element("span", { class: "soft", text });
  const bar = lab.element(
    "nav",
    { class: "bar", "aria-label": "Claims" },
    link("← all claims", "claims"),
    link("‹ previous", ids[index - 1]),
    link("next ›", index < 0 ? undefined : ids[index + 1]),
  );
  open.querySelector(":scope > nav.bar")?.remove();
  open.prepend(bar);
  page.fill(open);
  scrollTo({ top: 0, behavior: "instant" });
};
addEventListener("hashchange", () => page.route());

document.documentElement.classList.add("scripted");
playground.start();
if (!lab.facts.live) page.route(); // the explorer does when it can fetch runs
