// Sorting and filtering of the gallery's rows. The server wrote them in the default order, so loading moves nothing.
import { choose, radio, read, refuse, write } from "./state.js";

const SCALE = { K: 1e3, M: 1e6, B: 1e9, T: 1e12 };
const BINARY = { K: 1024, M: 1024 ** 2 };

/** "7B", "1.5 T", "70000000" as a number; NaN for anything else. A context's K is 1024, as people mean it. */
export function amount(text, scale = SCALE) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]?)\s*$/i.exec(text.replaceAll(",", ""));
  if (!match) return NaN;
  const suffix = match[2].toUpperCase();
  return suffix ? Number(match[1]) * (scale[suffix] ?? NaN) : Number(match[1]);
}

const raw = (cell) => cell.dataset.v ?? cell.textContent.trim();

/** A cell's value for sorting: a number, a word, or null where nothing is known. */
function value(cell, numeric) {
  if (cell.dataset.rank) return Number(cell.dataset.rank); // words with an order of their own
  const text = raw(cell);
  if (text === "" || text === "—") return null;
  return numeric ? Number(text) : text.toLowerCase();
}

function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null); // unknown last, whichever way
  return a < b ? -sign : a > b ? sign : 0;
}

export function startGallery(table) {
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const column = (key) => heads.findIndex((head) => head.dataset.key === key);
  const cell = (row, key) => row.cells[column(key)];
  const fallback = table.dataset.defaultSort;

  function sort(name) {
    const down = name.startsWith("-");
    const index = column(name.replace(/^-/, ""));
    const numeric = heads[index].classList.contains("n");
    const ranked = rows.map((row) => [value(row.cells[index], numeric), row]);
    ranked.sort(([a], [b]) => compare(a, b, down ? -1 : 1));
    body.append(...ranked.map(([, row]) => row));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[index].setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = now ? (now === "ascending" ? "descending" : "ascending") : head.dataset.first;
      const name = (next === "descending" ? "-" : "") + head.dataset.key;
      sort(name);
      write("sort", name, fallback);
    });
  }

  const form = document.getElementById("filters");
  const inputs = Object.fromEntries([...form.querySelectorAll("[data-filter]")].map((e) => [e.dataset.filter, e]));
  const same = (key) => (row, text) => raw(cell(row, key)) === text;
  const bound = (key, scale, sign) => (row, text) => {
    const have = value(cell(row, key), true);
    return have !== null && sign * (have - amount(text, scale)) >= 0;
  };
  const tests = {
    q: (row, text) => text.toLowerCase().split(/\s+/).every((word) => `${row.dataset.model} ${row.textContent}`.toLowerCase().includes(word)),
    lab: same("lab"),
    arch: same("arch"),
    family: same("family"),
    attn: same("attn"),
    strength: same("strength"),
    pmin: bound("params", SCALE, 1),
    pmax: bound("params", SCALE, -1),
    cmin: bound("ctx", { ...SCALE, ...BINARY }, 1),
    cmax: bound("ctx", { ...SCALE, ...BINARY }, -1),
  };
  const isRange = (name) => /^[pc]m(in|ax)$/.test(name);
  const legal = (name, text) => text === "" || !isRange(name) || !Number.isNaN(amount(text));

  function filter() {
    const asked = [];
    for (const [name, input] of Object.entries(inputs)) {
      const text = input.value.trim();
      const fine = legal(name, text);
      if (isRange(name)) input.setAttribute("aria-invalid", String(!fine));
      if (text && fine) asked.push([name, text]);
    }
    let shown = 0;
    for (const row of rows) {
      row.hidden = !asked.every(([name, text]) => tests[name](row, text));
      shown += row.hidden ? 0 : 1;
    }
    const all = `${rows.length} models`;
    document.getElementById("count").textContent = asked.length ? `${shown} of ${all}` : all;
    document.getElementById("nothing").hidden = shown > 0;
    form.querySelector("[type=reset]").hidden = asked.length === 0;
  }

  for (const [name, input] of Object.entries(inputs)) {
    const text = read(name);
    input.value = text;
    // A select refuses a value it does not list, and a range one that is no number.
    if (text && (input.value !== text || !legal(name, text))) {
      input.value = "";
      refuse(name);
    }
    input.addEventListener("input", () => {
      filter();
      const now = input.value.trim();
      write(name, legal(name, now) ? now : "");
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    for (const name of Object.keys(inputs)) write(name, "");
    filter();
  }));
  document.querySelector("[data-clear]")?.addEventListener("click", () => form.reset());

  const more = form.querySelector(".more");
  more.addEventListener("click", () => {
    const isOpen = form.classList.toggle("open");
    more.setAttribute("aria-expanded", String(isOpen));
  });

  radio("cols");

  const legalSorts = heads.flatMap((head) => [head.dataset.key, `-${head.dataset.key}`]);
  const order = choose("sort", legalSorts, fallback);
  if (order !== fallback) sort(order);
  if (Object.values(inputs).some((input) => input.value)) filter();

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    inputs.q.focus();
  }, true);
}
