// The formula behind a number, or what a word says of a model, by hover, focus or tap. A tap or Enter keeps it open; Escape or a click elsewhere closes.
import { figuresData, readAhead } from "./figures.js";
import { reach } from "./reach.js";

const MARGIN = 12;
const GAP = 6;
const MAX_HEIGHT = 560;
const LINGER_MS = 160; // time to move the pointer from the number into the tip

const UNITS = { parameter: "parameters", element: "elements", byte: "bytes", "byte/token": "bytes per token", FLOP: "FLOPs", "FLOP/byte": "FLOPs per byte", token: "tokens", layer: "layers", copy: "copies", second: "seconds", "token/s": "tokens per second", sequence: "sequences", USD: "USD", joule: "joules", share: "of the whole", 1: "" };

const tip = document.createElement("div");
let owner = null; // the button whose tip is open
let pinned = false;
let closing = 0;

const make = (name, text = "", className = "") => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  if (className) element.className = className;
  return element;
};

/** A rounded value brings its own sign. */
const equals = (exact) => (exact.startsWith("≈") ? exact : `= ${exact}`);

/** MathML text from the builder, as nodes. */
function math(text) {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content.cloneNode(true);
}

/** The same formula with every name replaced by its value. */
function substituted(text, values) {
  const nodes = math(text);
  // A name is printed as <mi>B</mi>, or with its index as <msub><mi>n</mi><mtext>heads</mtext></msub>.
  for (const name of nodes.querySelectorAll("msub, mi")) {
    const letters = name.localName === "msub" ? [...name.children] : [name];
    const value = values[letters.map((part) => part.textContent).join("_")];
    if (value === undefined || !nodes.contains(name)) continue;
    const number = document.createElementNS("http://www.w3.org/1998/Math/MathML", "mn");
    number.textContent = value.replace("≈ ", ""); // the result below says that it is rounded
    name.replaceWith(number);
  }
  return nodes;
}

function line(content, className = "") {
  const box = make("div", "", `math ${className}`);
  box.append(content);
  return box;
}

/** Where a number's figure stands: the model it is of, or the step of a deployment. */
function bookOf(button, { models, books }) {
  const { book, model } = button.closest("[data-book], [data-model]").dataset;
  return book ? books[book] : models[model];
}

/** Every named part of a formula with its value, those it names itself before those inside them. */
function partsOf(formula, quantity, book, formulas) {
  const found = new Map();
  let level = formula.definitions;
  for (let depth = 0; level.length; depth += 1) {
    const fresh = level.filter((part) => !found.has(part.name));
    for (const part of fresh) found.set(part.name, { ...part, depth, value: quantity.parts?.[part.name] ?? book.values[part.formula] });
    level = book.values ? fresh.flatMap((part) => formulas[part.formula].definitions) : [];
  }
  return [...found.values()];
}

function definitions(parts, formulas) {
  const list = make("dl");
  for (const part of parts) {
    const row = make("div");
    const name = make("dt");
    const body = make("dd", "", "math");
    name.append(math(part.mathml));
    body.append(make("span", "=", "is"), math(formulas[part.formula].mathml), make("span", equals(part.value), "equals"));
    row.append(name, body);
    list.append(row);
  }
  return list;
}

/** Parts within parts, on demand: a step has hundreds. */
function inner(parts, formulas) {
  const box = make("details");
  box.append(make("summary", `Parts of these: ${parts.length}`));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(definitions(parts, formulas));
    reach(tip);
  });
  return box;
}

function table(formula, symbols, values) {
  const rows = make("table");
  for (const name of formula.symbols) {
    const row = rows.insertRow();
    row.insertCell().append(make("code", name));
    row.insertCell().textContent = values[name];
    const meaning = row.insertCell();
    meaning.append(symbols[name].meaning);
    if (symbols[name].source) meaning.append(" ", make("code", symbols[name].source));
  }
  return rows;
}

function list(lines, className) {
  const box = make("ul", "", className);
  // Sentences of the engine put names in backticks.
  for (const text of lines) {
    const item = make("li");
    item.append(...text.split("`").map((piece, at) => (at % 2 ? make("code", piece) : piece)));
    box.append(item);
  }
  return box;
}

/** What was and what was not checked of a model. */
function say(button, { rows }) {
  const row = rows.find(({ id }) => id === button.closest("[data-model]").dataset.model);
  const title = make("h2", row.name);
  title.append(make("code", row.strength));
  const parts = [title, make("p", button.dataset.says)];
  if (row.checked.length) parts.push(make("h3", "Agrees with facts outside"), list(row.checked, "did"));
  if (row.unchecked.length) parts.push(make("h3", "Not checked"), list(row.unchecked, "not"));
  parts.push(make("h3", `Config: ${row.config_state}`), make("p", button.dataset.state));
  finish(parts, `What was checked: ${row.name}`);
}

function finish(parts, label) {
  const close = make("button", "Close", "text close");
  close.type = "button";
  close.addEventListener("click", () => shut(true));
  tip.replaceChildren(...parts, close);
  tip.setAttribute("aria-label", label);
  tip.scrollTop = 0;
}

function fill(button, data) {
  const { formulas } = data;
  const book = bookOf(button, data);
  const key = button.dataset.q;
  const quantity = book.quantities[key];
  const formula = formulas[quantity.formula];
  const title = make("h2", quantity.label);
  title.append(make("code", key));
  const result = make("p", equals(quantity.exact), "result");
  result.append(make("span", ` ${UNITS[quantity.unit]}`));
  const values = Object.fromEntries(formula.symbols.map((name) => [name, book.symbols[name].exact]));
  Object.assign(values, quantity.symbols); // what this figure sets by itself, such as its context
  const named = partsOf(formula, quantity, book, formulas);
  const known = { ...values, ...Object.fromEntries(named.map((part) => [part.name, part.value])) };
  const parts = [title];
  if (formula.symbols.length) parts.push(line(math(formula.mathml)), line(substituted(formula.mathml, known), "values"));
  parts.push(result);
  if (quantity.extrapolated) parts.push(make("p", "† Beyond the context the model publishes.", "beyond-note"));
  const [outer, deeper] = [named.filter((part) => !part.depth), named.filter((part) => part.depth)];
  if (outer.length) parts.push(make("h3", "where"), definitions(outer, formulas));
  if (deeper.length) parts.push(inner(deeper, formulas));
  if (formula.symbols.length) parts.push(make("h3", "with"), table(formula, book.symbols, values));
  const command = quantity.command ?? `${book.command.before} ${key} ${book.command.after}`;
  const cli = make("div", "", "cli");
  const copy = make("button", "Copy", "text");
  copy.type = "button";
  copy.dataset.copyText = command;
  copy.setAttribute("aria-label", "Copy the command");
  cli.append(make("code", command), copy);
  parts.push(cli);
  finish(parts, `Formula: ${quantity.label}`);
}

/** Below the number or above it, whichever has room; where neither has, on the roomier side and cut to fit.
    The body ends where the room for a scrollbar begins; the window's own width does not tell. */
function place(button) {
  tip.style.maxHeight = "";
  if (matchMedia("(max-width: 760px)").matches) return; // a sheet at the bottom, as the style says
  const at = button.getBoundingClientRect();
  const room = { below: innerHeight - at.bottom - GAP - MARGIN, above: at.top - GAP - MARGIN };
  const side = tip.offsetHeight <= room.below || room.below >= room.above ? "below" : "above";
  tip.style.maxHeight = `${Math.min(MAX_HEIGHT, room[side])}px`;
  const left = Math.max(MARGIN, Math.min(at.left - 18, document.body.getBoundingClientRect().right - tip.offsetWidth - MARGIN));
  tip.style.left = `${left}px`;
  tip.style.top = `${side === "below" ? at.bottom + GAP : at.top - GAP - tip.offsetHeight}px`;
}

function show(button) {
  if (!tip.matches(":popover-open")) tip.showPopover();
  place(button);
  reach(tip);
  // The first formula fetches its font, and takes another width with it.
  document.fonts.ready.then(() => owner === button && place(button));
}

async function open(button) {
  clearTimeout(closing);
  if (owner === button) return;
  owner?.setAttribute("aria-expanded", "false");
  owner = button;
  pinned = false;
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", tip.id);
  try {
    const data = await figuresData();
    if (owner !== button) return; // the pointer went on while the data came
    (button.matches(".says") ? say : fill)(button, data);
  } catch (error) {
    if (owner !== button) return;
    tip.replaceChildren(make("p", `The formulas could not be loaded (${error.message}).`));
  }
  show(button);
  if (wantsFocus) tip.focus({ preventScroll: true });
  wantsFocus = false;
}

function shut(focus = false) {
  clearTimeout(closing);
  if (!owner) return;
  const last = owner;
  owner = null;
  pinned = false;
  wantsFocus = false;
  last.setAttribute("aria-expanded", "false");
  if (tip.matches(":popover-open")) tip.hidePopover();
  if (!focus || last === document.activeElement) return;
  silent = true;
  last.focus({ preventScroll: true });
  silent = false;
}

let wantsFocus = false; // opened by Enter: go into the tip once it is there
let silent = false; // the focus that comes back after Escape must not open the tip again

function leave() {
  if (pinned) return;
  clearTimeout(closing);
  closing = setTimeout(shut, LINGER_MS);
}

const figure = (target) => target?.closest?.("button.q, button.says");

export function startTips() {
  tip.id = "formula-tip";
  tip.className = "tip";
  tip.popover = "manual";
  tip.tabIndex = -1;
  tip.setAttribute("role", "dialog");
  document.body.append(tip);
  readAhead();

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return; // a tap is a click
    const button = figure(event.target);
    if (button && !pinned) open(button);
    else if (tip.contains(event.target)) clearTimeout(closing);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.pointerType !== "touch" && (figure(event.target) || tip.contains(event.target))) leave();
  });
  document.addEventListener("focusin", (event) => {
    const button = figure(event.target);
    if (button && button.matches(":focus-visible") && !silent) open(button);
  });
  document.addEventListener("focusout", (event) => {
    if (owner && !tip.contains(event.relatedTarget) && event.relatedTarget !== owner) leave();
  });
  document.addEventListener("click", (event) => {
    const button = figure(event.target);
    if (button) {
      if (owner === button && pinned) return shut();
      const there = owner === button && tip.matches(":popover-open");
      wantsFocus = event.detail === 0; // from the keyboard: go in, to scroll and copy
      if (there && wantsFocus) {
        tip.focus({ preventScroll: true });
        wantsFocus = false;
      }
      open(button);
      pinned = true;
    } else if (!tip.contains(event.target)) shut();
    return undefined;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && owner) {
      const inside = tip.contains(document.activeElement) || document.activeElement === owner;
      shut(inside);
      event.stopPropagation();
    }
  });
  addEventListener("scroll", () => owner && !pinned && !tip.matches(":hover") && shut(), { passive: true });
  addEventListener("resize", () => owner && place(owner));
}
