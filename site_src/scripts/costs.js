// The phase of the cost table, and whether it lists views. CSS does the switching; this keeps it in the address.
import { radio, tick } from "./state.js";

export function startCosts(table) {
  if (!table) return;
  radio("phase");
  tick("views", document.getElementById("views"));
  walkNumbers(table);
}

/** Arrow keys walk the numbers of a table, so that no one has to tab through hundreds of them. */
export function walkNumbers(table) {
  table.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const here = event.target.closest("button.q")?.closest("td");
    if (!step || !here) return;
    const rows = [...table.rows].filter((row) => row.querySelector("button.q"));
    const seen = (row) => [...row.cells].filter((cell) => cell.offsetParent && cell.querySelector("button.q"));
    const row = rows.indexOf(here.parentElement);
    const edge = here.getBoundingClientRect().right;
    const next = step[0]
      ? seen(rows[row + step[0]] ?? here.parentElement).find((cell) => Math.abs(cell.getBoundingClientRect().right - edge) < 2)
      : seen(here.parentElement)[seen(here.parentElement).indexOf(here) + step[1]];
    if (!next) return;
    event.preventDefault();
    next.querySelector("button.q").focus();
  });
}
