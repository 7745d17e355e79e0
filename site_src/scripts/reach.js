// A formula that is wider than its box can be scrolled by keyboard too; one that fits is no stop for the Tab key.

export function reach(root) {
  for (const box of root.querySelectorAll(".math")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

export function startReach() {
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => reach(details));
    addEventListener("resize", () => details.open && reach(details));
  }
}
