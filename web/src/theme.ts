// Light and dark: the system's choice until the reader makes one. Canvases repaint on a change.
import { h } from "./dom";

const repaints = new Set<() => void>();
const system = matchMedia("(prefers-color-scheme: dark)");
let chosen: string | undefined;

export function on_repaint(paint: () => void): void {
  repaints.add(paint);
}

export function forget_repaints(): void {
  repaints.clear();
}

export function css_colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const wanted = (): string => chosen ?? (system.matches ? "dark" : "light");

function apply(theme: string): void {
  if (document.documentElement.dataset.theme === theme) return;
  document.documentElement.dataset.theme = theme;
  for (const paint of repaints) paint();
}

export function theme_button(): HTMLElement {
  const button = h("button", { type: "button", class: "theme", click: () => {
    chosen = wanted() === "dark" ? "light" : "dark";
    update();
  } });
  const update = (): void => {
    apply(wanted());
    const other = wanted() === "dark" ? "Light" : "Dark";
    button.textContent = other;
    button.setAttribute("aria-label", `${other} colours`);
  };
  system.addEventListener("change", update);
  update();
  return button;
}

// Paper is white.
addEventListener("beforeprint", () => apply("light"));
addEventListener("afterprint", () => apply(wanted()));
apply(wanted());
