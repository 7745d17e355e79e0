// A table that fits its box needs no scrolling of its own, so its header may stay in sight while the page scrolls.
// One that does not fit scrolls in its box, and a shade lies over the edge behind which it goes on.

const ALL = ".scroll, .md-typeset__scrollwrap"; // the second is what Material puts around the tables of prose

/** Where the table goes on out of sight. The box's padding is no part of it. */
function shade(box) {
  const { left, right } = box.getBoundingClientRect();
  const table = box.querySelector("table").getBoundingClientRect();
  box.classList.toggle("more-before", table.left < left - 1);
  box.classList.toggle("more-after", table.right > right + 1);
}

/** The keyboard can scroll what is wider than its box. The boxes of templates say so themselves. */
function offer(box) {
  if (!box.matches(".md-typeset__scrollwrap")) return;
  const given = { tabindex: "0", role: "group", "aria-label": "Table that scrolls sideways" };
  const wide = box.scrollWidth > box.clientWidth;
  for (const [name, value] of Object.entries(given)) wide ? box.setAttribute(name, value) : box.removeAttribute(name);
}

export function startFit() {
  const seen = new WeakMap(); // box -> the widths it was last looked at with
  const look = () => {
    for (const box of document.querySelectorAll(ALL)) {
      // Taking the classes away lays the box out anew, so what has not changed is left alone.
      const widths = `${box.clientWidth} ${box.querySelector("table").offsetWidth}`;
      if (seen.get(box) === widths) continue;
      seen.set(box, widths);
      box.classList.remove("fits", "more-before", "more-after");
      box.classList.toggle("fits", box.scrollWidth <= box.clientWidth);
      offer(box);
      shade(box);
    }
  };
  look();
  document.fonts.ready.then(look);
  addEventListener("load", look); // by then Material has put its boxes around tables
  addEventListener("resize", look);
  document.addEventListener("scroll", (event) => event.target.matches?.(ALL) && shade(event.target), { capture: true, passive: true });
  document.addEventListener("change", look); // columns, phase, views
  document.addEventListener("click", (event) => event.target.closest("[data-unit]") && look());
}
