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

/** Read the data at the first sign of a reader who acts, so that the first tip opens at once and others load nothing. */
export function readAhead() {
  if (!element) return;
  const signs = ["pointermove", "touchstart", "keydown"];
  const start = () => {
    for (const sign of signs) removeEventListener(sign, start);
    figuresData().catch(() => {});
  };
  for (const sign of signs) addEventListener(sign, start, { passive: true });
}
