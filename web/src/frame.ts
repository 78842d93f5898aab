// What line and bar charts share: a figure that redraws itself to its width, axes, pointer, keys.
import type { ScaleLinear } from "d3-scale";
import { choice, h, svg } from "./dom";
import { Tooltip } from "./tooltip";

export interface Margin {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

/** A drawn chart: where its stops are, for a pointer or the arrow keys. */
export interface Drawing {
  picture: SVGElement;
  stops: number;
  stop_at: (x: number, y: number) => number; // -1: none there.
  show: (stop: number, tooltip: Tooltip) => void;
  hide: () => void;
}

export interface Frame {
  label: string; // For those who do not see it.
  views: string[];
  draw: (width: number, view: number) => Drawing;
}

export function frame(chart: Frame): HTMLElement {
  const tooltip = new Tooltip();
  const plot = h("div", {
    class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart",
    "aria-label": `${chart.label} Arrow keys read the values.`,
  });
  let view = 0;
  let width = 0;
  let stop = -1;
  let drawing: Drawing | null = null;

  const redraw = (): void => {
    hide();
    drawing = chart.draw(width, view);
    plot.replaceChildren(drawing.picture, tooltip.element);
  };
  const hide = (): void => {
    stop = -1;
    tooltip.hide();
    drawing?.hide();
  };
  const show = (next: number): void => {
    if (next < 0 || !drawing) return hide();
    stop = next;
    drawing.show(stop, tooltip);
  };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    show(drawing?.stop_at(event.clientX - box.left, event.clientY - box.top) ?? -1);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const last = (drawing?.stops ?? 0) - 1;
    const next = { ArrowRight: Math.min(stop + 1, last), ArrowLeft: Math.max(stop - 1, 0),
      Home: 0, End: last, Escape: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry?.contentRect.width ?? 0);
    if (now <= 0 || now === width) return;
    width = now;
    redraw();
  }).observe(plot);
  const views = chart.views.length < 2 ? null : choice("View", chart.views, 0, (next) => {
    view = next;
    redraw();
  });
  return h("div", { class: "figure" }, views, plot);
}

export function canvas_of(width: number, height: number): SVGElement {
  return svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "picture",
  });
}

/** Grid lines, their numbers and the axis' name above them. What reads the same stands once. */
export function y_axis(
  scale: ScaleLinear<number, number>, margin: Margin, width: number,
  label: string, format: (value: number) => string,
): SVGElement {
  const group = svg("g", { class: "axis" });
  const ticks = scale.ticks(5);
  const distinct = new Set(ticks.map(format)).size === ticks.length;
  for (const tick of distinct ? ticks : ticks.filter(Number.isInteger)) {
    const y = Math.round(scale(tick)) + 0.5;
    group.append(
      svg("line", { class: tick === 0 ? "base" : "rule", x1: margin.left,
        x2: width - margin.right, y1: y, y2: y }),
      svg("text", { x: margin.left - 8, y: y + 4, "text-anchor": "end" }, format(tick)));
  }
  group.append(svg("text", { class: "axis-name", x: 0, y: 12 }, label));
  return group;
}

/** Text widths without a layout: charts use one font size. */
export function text_width(text: string): number {
  return text.length * 6.7;
}

/** Up to two lines, broken between words where one is too long. */
export function in_lines(text: string, width: number): string[] {
  if (text_width(text) <= width) return [text];
  const words = text.split(" ");
  if (words.length === 1) return [shorten(text, width)];
  const last = words.pop() as string;
  return [shorten(words.join(" "), width), shorten(last, width)];
}

export function shorten(text: string, width: number): string {
  const room = Math.floor(width / text_width("x"));
  return text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`;
}
