// GiB or GB. Both texts come with the page; this only shows the one that was chosen, and remembers it.
import { read, refuse, write } from "./state.js";

const KEY = "rooflight.units";
const GAP = "\u202f";

function remembered() {
  try {
    return localStorage.getItem(KEY) === "decimal" ? "decimal" : "binary";
  } catch {
    return "binary"; // storage may be forbidden; the address still works
  }
}

function remember(units) {
  try {
    localStorage.setItem(KEY, units);
  } catch {
    // as above
  }
}

function show(units) {
  for (const button of document.querySelectorAll("button.q, .both")) {
    if (!button.dataset.d) continue; // no bytes
    const binary = (button.dataset.b ??= button.textContent);
    const [number, unit] = (units === "decimal" ? button.dataset.d : binary).split(GAP);
    const label = document.createElement("span");
    label.className = "u";
    label.textContent = GAP + unit;
    button.replaceChildren(number, label);
  }
  for (const button of document.querySelectorAll("[data-unit]")) {
    button.setAttribute("aria-pressed", String(button.dataset.unit === units));
  }
}

export function startUnits() {
  let units = remembered();
  const asked = read("u");
  if (asked === "decimal" || asked === "binary") units = asked;
  else if (asked) refuse("u");
  if (units !== "binary") show(units);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-unit]");
    if (!button) return;
    units = button.dataset.unit;
    remember(units);
    write("u", units, "binary");
    show(units);
  });
}
