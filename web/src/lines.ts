// Lines over a common x: allocated against arrived, fragmented against arrived, use over time.
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { curveLinear, curveStepAfter, line } from "d3-shape";
import { card, numbers, svg } from "./dom";
import { canvas_of, type Drawing, frame, type Margin, shorten, text_width, y_axis } from "./frame";
import { look } from "./series";

export interface Series {
  name: string;
  index: number; // Of its look.
  points: [number, number][]; // By rising x.
}

export interface LineView {
  label: string;
  x: [number, number];
  y: [number, number];
}

export interface LineChart {
  title: string;
  note: string;
  x_name: string;
  y_name: string;
  x_text: (value: number) => string;
  y_text: (value: number) => string;
  x_ticks?: number[];
  series: Series[];
  ideal?: { name: string; points: [number, number][] };
  views: LineView[];
  steps?: boolean; // A value holds until the next point.
  ends?: boolean; // Names at the ends of the lines: yes where left out.
}

interface Scales {
  x: ScaleLinear<number, number>;
  y: ScaleLinear<number, number>;
  width: number;
  height: number;
  margin: Margin;
}

export function line_chart(chart: LineChart): HTMLElement {
  return card(chart.title, chart.note,
    frame({
      label: `${chart.title}: ${chart.note}`,
      views: chart.views.map((view) => view.label),
      draw: (width, view) => draw(chart, chart.views[view] as LineView, width),
    }),
    table(chart));
}

/** At most about 14 rows; the curve itself has hundreds of points. */
function table(chart: LineChart): HTMLElement {
  const xs = stops_of(chart);
  const step = Math.max(1, Math.floor(xs.length / 13));
  const some = xs.filter((_, at) => at % step === 0 || at === xs.length - 1);
  return numbers([chart.x_name, ...chart.series.map((series) => series.name)],
    some.map((x) => [chart.x_text(x), ...chart.series.map((series) => {
      const y = value_at(series.points, x, chart.steps ?? false);
      return y === null ? "" : chart.y_text(y);
    })]));
}

function draw(chart: LineChart, view: LineView, width: number): Drawing {
  const wide = width >= 480;
  const names = Math.max(...chart.series.map((series) => text_width(series.name)), 40);
  const named = wide && (chart.ends ?? true);
  const margin: Margin = { top: 26, right: named ? Math.min(names + 22, 170) : 14, bottom: 40,
    left: 46 };
  const height = wide ? 320 : 260;
  const scales: Scales = {
    x: scaleLinear(view.x, [margin.left, width - margin.right]),
    y: scaleLinear(view.y, [height - margin.bottom, margin.top]),
    width, height, margin,
  };
  const picture = canvas_of(width, height);
  picture.append(y_axis(scales.y, margin, width, chart.y_name, chart.y_text),
    x_axis(chart, scales), marks(chart, scales));
  if (named) picture.append(end_names(chart, scales));
  const cross = svg("g", { class: "cross" });
  picture.append(cross);
  return { picture, ...reading(chart, view, scales, cross) };
}

function x_axis(chart: LineChart, { x, width, height, margin }: Scales): SVGElement {
  const group = svg("g", { class: "axis" });
  const [low, high] = x.domain() as [number, number];
  const room = Math.max(2, Math.floor((width - margin.left - margin.right) / 60));
  const given = chart.x_ticks?.filter((tick) => tick >= low && tick <= high);
  const ticks = given && given.length > 1 ? thin_out(given, room) : x.ticks(Math.min(room, 7));
  for (const tick of ticks) {
    group.append(
      svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: height - margin.bottom,
        y2: height - margin.bottom + 4 }),
      svg("text", { x: x(tick), y: height - margin.bottom + 17, "text-anchor": "middle" },
        chart.x_text(tick)));
  }
  group.append(svg("text", { class: "axis-name", x: width - margin.right, y: height - 6,
    "text-anchor": "end" }, chart.x_name));
  return group;
}

function thin_out(ticks: number[], room: number): number[] {
  const step = Math.ceil(ticks.length / room);
  return ticks.filter((_, at) => at % step === 0);
}

let clips = 0;

function marks(chart: LineChart, { x, y, width, height, margin }: Scales): SVGElement {
  const id = `clip-${++clips}`;
  const path = line<[number, number]>((point) => x(point[0]), (point) => y(point[1]))
    .curve(chart.steps ? curveStepAfter : curveLinear);
  const group = svg("g", { "clip-path": `url(#${id})` });
  group.append(svg("clipPath", { id }, svg("rect", { x: margin.left, y: margin.top - 4,
    width: width - margin.left - margin.right, height: height - margin.top - margin.bottom + 4 })));
  if (chart.ideal) {
    group.append(svg("path", { class: "ideal", d: path(chart.ideal.points) ?? "" }));
  }
  for (const series of [...chart.series].reverse()) {
    group.append(svg("path", { ...look(series.index), d: path(series.points) ?? "" }));
  }
  return group;
}

/** Names at the ends of the lines, pushed apart, each tied to its line by a hair. */
function end_names(chart: LineChart, { x, y, width, height, margin }: Scales): SVGElement {
  const [, end] = x.domain() as [number, number];
  const [low, high] = y.domain() as [number, number];
  const rows: { name: string; index: number; at: number; to: number }[] = [];
  const add = (name: string, index: number, points: [number, number][]): void => {
    const value = value_at(points, end, chart.steps ?? false) ?? points.at(-1)?.[1];
    if (value === undefined) return;
    const at = y(Math.min(Math.max(value, low), high));
    rows.push({ name, index, at, to: at });
  };
  if (chart.ideal) add(chart.ideal.name, -1, chart.ideal.points);
  for (const series of chart.series) add(series.name, series.index, series.points);
  rows.sort((a, b) => a.at - b.at);
  const gap = 15;
  rows.forEach((row, at) => {
    row.to = Math.max(row.at, at === 0 ? margin.top : (rows[at - 1]?.to ?? 0) + gap);
  });
  let floor = height - margin.bottom;
  for (const row of [...rows].reverse()) {
    row.to = Math.min(row.to, floor);
    floor = row.to - gap;
  }
  const group = svg("g", { class: "ends" });
  const left = width - margin.right;
  for (const { name, index, at, to } of rows) {
    const own = index < 0 ? { class: "ideal-name" } : { class: `end s${index % 8}`,
      "data-series": index };
    group.append(svg("g", own,
      svg("path", { class: "hair", d: `M${left + 1},${at}L${left + 12},${to}` }),
      svg("text", { x: left + 15, y: to + 4 }, shorten(name, margin.right - 18))));
  }
  return group;
}

/** Every x that some line has, ascending. */
function stops_of(chart: LineChart): number[] {
  const all = new Set(chart.series.flatMap((series) => series.points.map((point) => point[0])));
  return [...all].sort((a, b) => a - b);
}

/** Between points: straight, or the earlier value. null outside the line. */
export function value_at(points: [number, number][], x: number, steps: boolean): number | null {
  let low = 0;
  let high = points.length - 1;
  const [first, last] = [points[0], points[high]];
  if (!first || !last || x < first[0] || x > last[0]) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((points[middle] as [number, number])[0] <= x) low = middle;
    else high = middle;
  }
  const [x0, y0] = points[low] as [number, number];
  const [x1, y1] = points[high] as [number, number];
  if (x >= x1) return y1;
  return steps || x1 === x0 ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

function reading(
  chart: LineChart, view: LineView, scales: Scales, cross: SVGElement,
): Omit<Drawing, "picture"> {
  const { x, y, height, margin } = scales;
  const xs = stops_of(chart).filter((value) => value >= view.x[0] && value <= view.x[1]);
  const nearest = (pixel: number): number => {
    const value = x.invert(pixel);
    let best = -1;
    xs.forEach((stop, at) => {
      if (best < 0 || Math.abs(stop - value) < Math.abs((xs[best] as number) - value)) best = at;
    });
    return best;
  };
  return {
    stops: xs.length,
    stop_at: (pixel) => nearest(pixel),
    hide: () => cross.replaceChildren(),
    show: (stop, tooltip) => {
      const at = xs[stop] as number;
      const values = chart.series
        .map((series) => ({ ...series, y: value_at(series.points, at, chart.steps ?? false) }))
        .filter((series): series is Series & { y: number } => series.y !== null)
        .sort((a, b) => b.y - a.y);
      cross.replaceChildren(
        svg("line", { x1: x(at), x2: x(at), y1: margin.top, y2: height - margin.bottom }),
        ...values.filter((series) => series.y >= view.y[0] && series.y <= view.y[1])
          .map((series) => svg("circle", { class: `dot s${series.index % 8}`, cx: x(at),
            cy: y(series.y), r: 3.5 })));
      tooltip.show(x(at), margin.top, `${chart.x_text(at)} ${chart.x_name}`,
        values.map((series) => ({ series: series.index, name: series.name,
          value: chart.y_text(series.y) })));
    },
  };
}
