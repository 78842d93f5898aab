// Grouped bars: one group per device model or task size, one bar per policy. Narrow screens turn
// the chart by 90 degrees, so that names keep their room.
import { scaleBand, scaleLinear } from "d3-scale";
import { card, numbers, svg } from "./dom";
import { canvas_of, type Drawing, frame, in_lines, type Margin, text_width, y_axis } from "./frame";

export interface BarView {
  label: string;
  value_name: string;
  values: number[][]; // By group, then series; NaN where unknown.
  text: (value: number) => string;
}

export interface BarChart {
  title: string;
  note: string;
  groups: { name: string; note?: string }[];
  series: { name: string; index: number }[];
  views: BarView[];
}

export function bar_chart(chart: BarChart): HTMLElement {
  const first = chart.views[0] as BarView;
  return card(chart.title, chart.note,
    frame({
      label: `${chart.title}: ${chart.note}`,
      views: chart.views.map((view) => view.label),
      draw: (width, at) => {
        const view = chart.views[at] as BarView;
        return width >= 480 ? standing(chart, view, width) : lying(chart, view, width);
      },
    }),
    numbers(["", ...chart.series.map((series) => series.name)],
      chart.groups.map((group, at) => [group.name,
        ...chart.series.map((_, series) => text_of(first, at, series))])));
}

function value_of(view: BarView, group: number, series: number): number {
  return view.values[group]?.[series] ?? NaN;
}

function text_of(view: BarView, group: number, series: number): string {
  const value = value_of(view, group, series);
  return Number.isFinite(value) ? view.text(value) : "";
}

function top_of(view: BarView): number {
  return Math.max(...view.values.flat().filter(Number.isFinite), 0) || 1;
}

function standing(chart: BarChart, view: BarView, width: number): Drawing {
  const margin: Margin = { top: 26, right: 8, bottom: 44, left: 46 };
  const height = 320;
  const base = height - margin.bottom;
  const y = scaleLinear([0, top_of(view)], [base, margin.top]).nice(5);
  const groups = scaleBand(chart.groups.map((_, at) => at), [margin.left, width - margin.right])
    .paddingInner(0.22).paddingOuter(0.08);
  const bars = scaleBand(chart.series.map((_, at) => at), [0, groups.bandwidth()])
    .paddingInner(0.12);
  const picture = canvas_of(width, height);
  const shade = svg("rect", { class: "shade", y: margin.top, height: base - margin.top, width: 0 });
  picture.append(shade, y_axis(y, margin, width, view.value_name, (value) => view.text(value)));
  chart.groups.forEach((group, at) => {
    const left = groups(at) ?? 0;
    const middle = left + groups.bandwidth() / 2;
    chart.series.forEach((series, bar) => {
      const value = value_of(view, at, bar);
      if (!Number.isFinite(value)) return;
      picture.append(svg("rect", { class: `bar s${series.index % 8}`, "data-series": series.index,
        x: left + (bars(bar) ?? 0), width: Math.max(1, bars.bandwidth()), y: y(value),
        height: Math.max(value > 0 ? 1 : 0, base - y(value)), rx: 1.5 }));
    });
    const lines = in_lines(group.name, groups.step());
    lines.forEach((line, row) => picture.append(svg("text", { class: "group-name", x: middle,
      y: base + 17 + 15 * row, "text-anchor": "middle" }, line)));
    if (group.note && lines.length === 1 && text_width(group.note) <= groups.step()) {
      picture.append(svg("text", { class: "group-note", x: middle, y: base + 32,
        "text-anchor": "middle" }, group.note));
    }
  });
  return {
    picture,
    stops: chart.groups.length,
    stop_at: (x) => Math.min(chart.groups.length - 1,
      Math.max(0, Math.floor((x - margin.left) / groups.step()))),
    hide: () => shade.setAttribute("width", "0"),
    show: (stop, tooltip) => {
      const left = groups(stop) ?? 0;
      const pad = (groups.step() - groups.bandwidth()) / 2;
      shade.setAttribute("x", String(left - pad));
      shade.setAttribute("width", String(groups.step()));
      tooltip.show(left + groups.bandwidth() / 2, margin.top, ...reading(chart, view, stop));
    },
  };
}

function lying(chart: BarChart, view: BarView, width: number): Drawing {
  const bar_height = 9;
  const name_height = 22;
  const group_height = name_height + chart.series.length * (bar_height + 2) + 8;
  const height = chart.groups.length * group_height + 4;
  const x = scaleLinear([0, top_of(view)], [0, width - 62]);
  const picture = canvas_of(width, height);
  const shade = svg("rect", { class: "shade", x: 0, width, height: 0 });
  picture.append(shade);
  chart.groups.forEach((group, at) => {
    const top = at * group_height;
    picture.append(svg("text", { class: "group-name", x: 0, y: top + 15 },
      group.note ? `${group.name} · ${group.note}` : group.name));
    chart.series.forEach((series, bar) => {
      const value = value_of(view, at, bar);
      if (!Number.isFinite(value)) return;
      const y = top + name_height + bar * (bar_height + 2);
      picture.append(
        svg("rect", { class: `bar s${series.index % 8}`, "data-series": series.index, x: 0, y,
          width: Math.max(value > 0 ? 1 : 0, x(value)), height: bar_height, rx: 1.5 }),
        svg("text", { class: "bar-value", x: x(value) + 5, y: y + bar_height }, view.text(value)));
    });
  });
  return {
    picture,
    stops: chart.groups.length,
    stop_at: (_, y) => Math.min(chart.groups.length - 1, Math.max(0, Math.floor(y / group_height))),
    hide: () => shade.setAttribute("height", "0"),
    show: (stop, tooltip) => {
      shade.setAttribute("y", String(stop * group_height));
      shade.setAttribute("height", String(group_height));
      tooltip.show(width / 3, stop * group_height + name_height, ...reading(chart, view, stop));
    },
  };
}

function reading(
  chart: BarChart, view: BarView, stop: number,
): [string, { series: number; name: string; value: string }[]] {
  const group = chart.groups[stop] as BarChart["groups"][number];
  const title = group.note ? `${group.name} · ${group.note}` : group.name;
  return [title, chart.series.map((series, at) => ({
    series: series.index, name: series.name, value: text_of(view, stop, at),
  }))];
}
