// The box that follows the pointer or the keyboard over one chart.
import { h } from "./dom";
import { block } from "./series";

export interface TooltipRow {
  series: number; // -1 without a colour.
  name: string;
  value: string;
}

export class Tooltip {
  readonly element = h("div", { class: "tooltip", role: "status", hidden: true });

  /** `x` and `y` are pixels in the parent; the box stays inside its width. */
  show(x: number, y: number, title: string, rows: TooltipRow[]): void {
    this.element.replaceChildren(
      h("strong", {}, title),
      ...rows.map((row) => h("div", { class: "row" },
        row.series >= 0 ? block(row.series) : h("span", { class: "block" }),
        h("span", { class: "name" }, row.name),
        h("span", { class: "value" }, row.value))));
    this.element.hidden = false;
    const room = this.element.parentElement?.clientWidth ?? 0;
    const width = this.element.offsetWidth;
    const right = x + 14 + width <= room;
    const left = right ? x + 14 : Math.max(0, Math.min(x - 14 - width, room - width));
    this.element.style.left = `${left}px`;
    this.element.style.top = `${Math.max(0, y)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
