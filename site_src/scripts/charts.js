// The points of a chart by pointer and keyboard: what one says stands in a line below the chart.

export function startCharts(charts) {
  for (const chart of charts) {
    const line = chart.querySelector(".read");
    const lines = [...chart.querySelectorAll("g")].map((series) => [...series.querySelectorAll(".mark")]);
    const show = (mark) => (line.textContent = mark.getAttribute("aria-label"));
    const plot = chart.querySelector(".plot");
    plot.addEventListener("pointerover", (event) => {
      const mark = event.target.closest(".mark");
      if (mark) show(mark);
    });
    plot.addEventListener("focusin", (event) => event.target.matches(".mark") && show(event.target));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const series = lines.findIndex((marks) => marks.includes(event.target));
      if (!step || series < 0) return;
      event.preventDefault();
      const there = lines[series + step[0]];
      const at = lines[series].indexOf(event.target) + step[1];
      const target = there?.[at] ?? (step[0] ? there?.at(-1) : undefined); // a line may be shorter than its neighbour
      target?.focus();
    });
  }
}
