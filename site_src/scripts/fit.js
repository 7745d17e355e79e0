// A table that fits its box needs no scrolling of its own, so its header may stay in sight while the page scrolls.

export function startFit() {
  const boxes = [...document.querySelectorAll(".scroll")];
  const look = () => {
    for (const box of boxes) {
      box.classList.remove("fits");
      box.classList.toggle("fits", box.scrollWidth <= box.clientWidth);
    }
  };
  look();
  document.fonts.ready.then(look);
  addEventListener("resize", look);
  document.addEventListener("change", look); // columns, phase, views
  document.addEventListener("click", (event) => event.target.closest("[data-unit]") && look());
}
