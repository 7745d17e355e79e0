// The phase of the cost table. The switch itself is CSS over radio buttons; this keeps it in the address.
import { choose, write } from "./state.js";

export function startCosts(table) {
  if (!table) return;
  const buttons = [...document.querySelectorAll("input[name=phase]")];
  const fallback = buttons[0].value;
  const phase = choose("phase", buttons.map((button) => button.value), fallback);
  for (const button of buttons) {
    button.checked = button.value === phase;
    button.addEventListener("change", () => write("phase", button.value, fallback));
  }
  // Arrow keys walk the numbers, so that no one has to tab through hundreds of them.
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
