// The tables of kernels: which step, in which order. CSS switches the step; the order moves rows.
import { radio } from "./state.js";
import { walkNumbers } from "./costs.js";

const seconds = (row) => Number(row.dataset.v);

function arrange(table) {
  const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows] })); // as the server wrote them
  const all = bodies.flatMap(({ rows }) => rows).filter((row) => !row.matches(".group"));
  const head = table.querySelector("[data-key=seconds]");
  return (order) => {
    const byTime = order === "time";
    table.classList.toggle("by-time", byTime);
    if (byTime) {
      head.setAttribute("aria-sort", "descending");
      bodies[0].body.append(...all.toSorted((one, two) => seconds(two) - seconds(one)));
    } else {
      head.removeAttribute("aria-sort");
      for (const { body, rows } of bodies) body.append(...rows);
    }
  };
}

export function startKernels(tables) {
  if (!tables.length) return;
  radio("phase");
  radio("order");
  const arrangements = [...tables].map(arrange);
  const apply = () => {
    const order = document.querySelector("input[name=order]:checked").value;
    for (const one of arrangements) one(order);
  };
  for (const button of document.querySelectorAll("input[name=order]")) button.addEventListener("change", apply);
  if (document.querySelector("input[name=order]:checked").value !== "walk") apply();
  for (const table of tables) walkNumbers(table);
}
