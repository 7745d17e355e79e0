// The points of a chart by pointer and keyboard: what one says stands in a line below the chart.

const x = (mark) => Number(mark.dataset.x);
const y = (mark) => Number(mark.dataset.y);

/** Of each other line the mark nearest to this one along x; on equal heights the later line counts as lower. */
function neighbours(lines, series, mark) {
  const away = (other) => Math.abs(x(other) - x(mark));
  return lines
    .map((marks, at) => ({ at, mark: marks.toSorted((one, two) => away(one) - away(two))[0] }))
    .filter(({ at }) => at !== series)
    .map((one) => ({ ...one, drop: y(one.mark) - y(mark) || (one.at - series) / 1e6 }))
    .toSorted((one, two) => Math.abs(one.drop) - Math.abs(two.drop));
}

/** Where a key leads: along the line, to its ends, or down and up the picture. Undefined for other keys. */
function target(key, lines, series, mark) {
  const line = lines[series];
  const at = line.indexOf(mark);
  switch (key) {
    case "ArrowLeft": return line[at - 1] ?? mark;
    case "ArrowRight": return line[at + 1] ?? mark;
    case "Home": return line[0];
    case "End": return line.at(-1);
    case "ArrowDown": return neighbours(lines, series, mark).find(({ drop }) => drop > 0)?.mark ?? mark;
    case "ArrowUp": return neighbours(lines, series, mark).find(({ drop }) => drop < 0)?.mark ?? mark;
    default: return undefined;
  }
}

/** Paper opens nothing, so what is closed is opened for it and closed again. */
function printPoints(charts) {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...charts].map((chart) => chart.querySelector("details:not([open])")).filter(Boolean);
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}

export function startCharts(charts) {
  printPoints(charts);
  for (const chart of charts) {
    const line = chart.querySelector(".read");
    const lines = [...chart.querySelectorAll("g")].map((series) => [...series.querySelectorAll(".mark")]);
    const show = (mark) => (line.textContent = mark.getAttribute("aria-label"));
    const plot = chart.querySelector(".plot");
    plot.addEventListener("pointerover", (event) => {
      const mark = event.target.closest(".mark");
      if (mark) show(mark);
    });
    plot.addEventListener("focusin", (event) => {
      if (!event.target.matches(".mark")) return;
      for (const mark of lines.flat()) mark.setAttribute("tabindex", mark === event.target ? "0" : "-1"); // one stop for Tab
      show(event.target);
    });
    plot.addEventListener("keydown", (event) => {
      const series = lines.findIndex((marks) => marks.includes(event.target));
      const there = series < 0 || event.ctrlKey || event.metaKey || event.altKey ? undefined : target(event.key, lines, series, event.target);
      if (!there) return;
      event.preventDefault();
      there.focus();
    });
  }
}
