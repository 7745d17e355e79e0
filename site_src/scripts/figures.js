// What stands behind the page's numbers: the same data file that is offered for download, read once and when needed.

const element = document.querySelector("[data-figures]");
let reading = null;

/** The document with every figure, symbol and formula of the page. Rejects when it cannot be had. */
export function figuresData() {
  reading ??= fetch(element.dataset.figures).then((answer) => {
    if (!answer.ok) throw new Error(`${answer.status} for ${element.dataset.figures}`);
    return answer.json();
  }).then((data) => {
    performance.mark("rooflight-figures");
    return data;
  });
  reading.catch(() => (reading = null)); // a later try may succeed
  return reading;
}

/** Read the data while nothing else happens, so that the first tip opens at once. */
export function readAhead() {
  if (!element) return;
  const later = window.requestIdleCallback ?? ((run) => setTimeout(run, 200));
  later(() => figuresData().catch(() => {}), { timeout: 2000 });
}

/** Every number of the page. */
export const figures = () => document.querySelectorAll("button.q");
