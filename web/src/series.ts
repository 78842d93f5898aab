// One look per policy, the same in every chart: colour, dash and place in the legend. The colours
// are told apart by people with the common colour-vision deficiencies; dashes carry the rest.
import { h, svg } from "./dom";

const dashes = ["", "9 3", "3 2", "12 3 3 3", "6 2", "14 3 3 3 3 3", "18 4", "5 4"];

export function look(index: number): Record<string, string | number> {
  return {
    class: `series s${index % 8}`,
    "data-series": index,
    // Where the colours come round again the dashes are others.
    "stroke-dasharray": dashes[(index + Math.floor(index / 8)) % dashes.length] ?? "",
  };
}

export function swatch(index: number): HTMLElement {
  const line = svg("line", { ...look(index), x1: 1, x2: 25, y1: 6, y2: 6 });
  return h("span", { class: "swatch", "aria-hidden": "true" },
    svg("svg", { width: 26, height: 12, viewBox: "0 0 26 12" }, line));
}

export function block(index: number): HTMLElement {
  return h("span", { class: `block s${index % 8}`, "aria-hidden": "true" });
}

/** Dims every mark of the other series in the page; -1 shows all. */
function spotlight(index: number): void {
  for (const mark of document.querySelectorAll("[data-series]")) {
    mark.classList.toggle("dim", index >= 0 && mark.getAttribute("data-series") !== String(index));
  }
}

/** Names with their looks. Pointing at one shows it alone, pressing it keeps it so. */
export function legend(names: string[]): HTMLElement {
  let kept = -1;
  const chips = names.map((name, index) => h("button", {
    type: "button",
    class: "chip",
    "aria-pressed": "false",
    "data-series": index,
    mouseenter: () => spotlight(index),
    mouseleave: () => spotlight(kept),
    focus: () => spotlight(index),
    blur: () => spotlight(kept),
    click: () => press(index),
  }, swatch(index), name));
  const press = (index: number): void => {
    kept = kept === index ? -1 : index;
    chips.forEach((chip, at) => chip.setAttribute("aria-pressed", String(at === kept)));
    spotlight(kept);
  };
  return h("div", { class: "legend", role: "group", "aria-label": "Show one policy alone" },
    ...chips);
}
