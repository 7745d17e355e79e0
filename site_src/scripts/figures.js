// The page's numbers as data: what stands behind each button, as the builder wrote it.

const element = document.getElementById("page-data");
const data = element ? JSON.parse(element.textContent) : { models: {}, formulas: {} };

export const formulas = data.formulas;

/** The model and the quantity behind a number's button. */
export function behind(button) {
  const model = data.models[button.closest("[data-model]").dataset.model];
  return { model, quantity: model.quantities[button.dataset.q] };
}

/** Every number of the page. */
export const figures = () => document.querySelectorAll("button.q");
