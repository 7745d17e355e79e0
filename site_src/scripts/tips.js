// The formula behind a number, by hover, focus or tap. A tap or Enter keeps it open; Escape or a click elsewhere closes.
import { behind, formulas } from "./figures.js";

const MARGIN = 12;
const GAP = 6;
const MAX_HEIGHT = 560;
const LINGER_MS = 160; // time to move the pointer from the number into the tip

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

/** MathML text from the builder, as nodes. */
function math(text) {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content.cloneNode(true);
}

/** The same formula with every symbol replaced by its value. */
function substituted(text, symbols) {
  const nodes = math(text);
  // A name is printed as <mi>B</mi>, or with its index as <msub><mi>n</mi><mtext>heads</mtext></msub>.
  for (const name of nodes.querySelectorAll("msub, mi")) {
    const symbol = symbols[[...(name.localName === "msub" ? name.children : [name])].map((part) => part.textContent).join("_")];
    if (!symbol || !nodes.contains(name)) continue;
    const number = document.createElementNS("http://www.w3.org/1998/Math/MathML", "mn");
    number.textContent = symbol.exact;
    name.replaceWith(number);
  }
  return nodes;
}

function line(content, className = "") {
  const box = make("div", "", `math ${className}`);
  box.append(content);
  return box;
}

function definitions(formula) {
  const list = make("dl");
  for (const [name, id] of Object.entries(formula.definitions)) {
    const row = make("div");
    const body = make("dd");
    body.append(math(formulas[id].mathml));
    row.append(make("dt", name), body);
    list.append(row);
  }
  return list;
}

function values(formula, symbols) {
  const table = make("table");
  for (const name of formula.symbols) {
    const symbol = symbols[name];
    if (!symbol) continue;
    const row = table.insertRow();
    row.insertCell().append(make("code", name));
    row.insertCell().textContent = symbol.exact;
    const meaning = row.insertCell();
    meaning.append(symbol.meaning, " ", make("code", symbol.source));
  }
  return table;
}

function fill(button) {
  const { model, quantity } = behind(button);
  const formula = formulas[quantity.formula];
  const title = make("h2", quantity.label);
  title.append(make("code", button.dataset.q));
  const result = make("p", `= ${quantity.exact}`, "result");
  result.append(make("span", ` ${quantity.unit === "1" ? "" : quantity.unit}`));
  const parts = [title, line(math(formula.mathml))];
  const named = Object.keys(formula.definitions).length > 0;
  if (formula.symbols.length && !named) parts.push(line(substituted(formula.mathml, model.symbols), "values"));
  parts.push(result);
  if (named) parts.push(make("h3", "where"), definitions(formula));
  if (formula.symbols.length) parts.push(make("h3", "with"), values(formula, model.symbols));
  const cli = make("div", "", "cli");
  const copy = make("button", "Copy", "text");
  copy.type = "button";
  copy.dataset.copyText = quantity.command;
  copy.setAttribute("aria-label", "Copy the command");
  cli.append(make("code", quantity.command), copy);
  const close = make("button", "Close", "text close");
  close.type = "button";
  close.addEventListener("click", () => shut(true));
  parts.push(cli, close);
  tip.replaceChildren(...parts);
  tip.setAttribute("aria-label", `Formula: ${quantity.label}`);
  tip.scrollTop = 0;
}

/** Below the number or above it, whichever has room; where neither has, on the roomier side and cut to fit. */
function place(button) {
  tip.style.maxHeight = "";
  if (matchMedia("(max-width: 760px)").matches) return; // a sheet at the bottom, as the style says
  const at = button.getBoundingClientRect();
  const room = { below: innerHeight - at.bottom - GAP - MARGIN, above: at.top - GAP - MARGIN };
  const side = tip.offsetHeight <= room.below || room.below >= room.above ? "below" : "above";
  tip.style.maxHeight = `${Math.min(MAX_HEIGHT, room[side])}px`;
  const left = Math.max(MARGIN, Math.min(at.left - 18, innerWidth - tip.offsetWidth - MARGIN));
  tip.style.left = `${left}px`;
  tip.style.top = `${side === "below" ? at.bottom + GAP : at.top - GAP - tip.offsetHeight}px`;
}

function open(button) {
  clearTimeout(closing);
  if (owner === button) return;
  owner?.setAttribute("aria-expanded", "false");
  owner = button;
  pinned = false;
  fill(button);
  if (!tip.matches(":popover-open")) tip.showPopover();
  place(button);
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", tip.id);
}

function shut(focus = false) {
  clearTimeout(closing);
  if (!owner) return;
  const last = owner;
  owner = null;
  pinned = false;
  last.setAttribute("aria-expanded", "false");
  tip.hidePopover();
  if (focus) last.focus({ preventScroll: true });
  silent = focus;
}

let silent = false; // the focus that comes back after Escape must not open the tip again

function leave() {
  if (pinned) return;
  clearTimeout(closing);
  closing = setTimeout(shut, LINGER_MS);
}

const figure = (target) => target?.closest?.("button.q");

export function startTips() {
  tip.id = "formula-tip";
  tip.className = "tip";
  tip.popover = "manual";
  tip.tabIndex = -1;
  tip.setAttribute("role", "dialog");
  document.body.append(tip);

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
    silent = false;
  });
  document.addEventListener("focusout", (event) => {
    if (owner && !tip.contains(event.relatedTarget) && event.relatedTarget !== owner) leave();
  });
  document.addEventListener("click", (event) => {
    const button = figure(event.target);
    if (button) {
      if (owner === button && pinned) return shut();
      open(button);
      pinned = true;
      if (event.detail === 0) tip.focus({ preventScroll: true }); // from the keyboard: go in, to scroll and copy
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
