// Copy a table as CSV or JSON with its raw values, a link to the page as it stands, or a piece of text.

const SAID_MS = 1400;

/** The visible cells of a table: a header of names with units, then one list per row. */
export function cells(table) {
  const visible = (cell) => cell.offsetParent !== null || cell.closest("table").offsetParent === null;
  const heads = [...table.tHead.rows].at(-1);
  const columns = [...heads.cells].map((cell, index) => ({ cell, index })).filter(({ cell }) => visible(cell));
  const named = ({ key, unitName }) => (unitName && unitName !== key ? `${key} (${unitName})` : key);
  const header = columns.map(({ cell }) => named(cell.dataset));
  const rows = [...table.querySelectorAll("tbody tr:not(.group, .opens), tfoot tr")].filter((row) => !row.hidden);
  const read = (cell) => (cell.dataset.v ?? cell.textContent.trim().replace(/\s+/g, " ")).replace(/^—$/, "");
  return [header, ...rows.map((row) => columns.map(({ index }) => read(row.cells[index])))];
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function csv(table) {
  const origin = `# Rooflight ${location.href}`;
  return [origin, ...cells(table).map((row) => row.map(quoted).join(","))].join("\n") + "\n";
}

export function json(table) {
  const [header, ...rows] = cells(table);
  const numeric = [...[...table.tHead.rows].at(-1).cells].filter((cell) => cell.offsetParent !== null).map((cell) => cell.classList.contains("n"));
  const entry = (text, index) => (numeric[index] ? (text === "" ? null : Number(text)) : text);
  return JSON.stringify(rows.map((row) => Object.fromEntries(row.map((text, i) => [header[i], entry(text, i)]))), null, 1);
}

const TEXTS = {
  csv: (button) => csv(document.getElementById(button.dataset.of)),
  json: (button) => json(document.getElementById(button.dataset.of)),
  link: () => location.href,
};

export function startCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-text]");
    if (!button) return;
    const label = (button.dataset.label ??= button.textContent);
    try {
      await navigator.clipboard.writeText(button.dataset.copyText ?? TEXTS[button.dataset.copy](button));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copying was refused";
    }
    setTimeout(() => (button.textContent = label), SAID_MS);
  });
}
