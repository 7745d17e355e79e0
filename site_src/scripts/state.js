// What the address says about the page: only what differs from the default, and nothing silently dropped.

const params = new URLSearchParams(location.search);
const refused = [];

/** The value of a key, or "" when the address does not say. */
export const read = (key) => params.get(key) ?? "";

/** Remember a value in the address; a default leaves it. */
export function write(key, value, fallback = "") {
  if (value === fallback || value === "") params.delete(key);
  else params.set(key, value);
  const query = params.toString();
  history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : "") + location.hash);
}

/** Say that a value in the address means nothing here, and take it out. */
export function refuse(key) {
  refused.push(`${key}=${params.get(key)}`);
  write(key, "");
  const note = document.getElementById("url-note");
  if (!note) return;
  note.textContent = `Ignored in the address: ${refused.join(", ")}`;
  note.hidden = false;
}

/** Read a key that must be one of a few values; anything else is refused and the default stands. */
export function choose(key, values, fallback) {
  const value = read(key);
  if (!value) return fallback;
  if (values.includes(value)) return value;
  refuse(key);
  return fallback;
}

/** Keep the choice among radio buttons of one name in the address. What they switch is CSS. */
export function radio(name) {
  const buttons = [...document.querySelectorAll(`input[name=${name}]`)];
  const fallback = buttons.find((button) => button.defaultChecked).value;
  const value = choose(name, buttons.map((button) => button.value), fallback);
  for (const button of buttons) {
    button.checked = button.value === value;
    button.addEventListener("change", () => write(name, button.value, fallback));
  }
}

/** Keep a checkbox in the address: `name=1` when it is ticked. */
export function tick(name, box) {
  if (!box) return;
  box.checked = choose(name, ["1"], "") === "1";
  box.addEventListener("change", () => write(name, box.checked ? "1" : ""));
}
