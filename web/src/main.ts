// The page: headline, policies, charts, map. All figures come from the JSON in the page itself.
import { bar_chart } from "./bars";
import { h } from "./dom";
import { line_chart, type LineView, type Series } from "./lines";
import { fleet_map } from "./map";
import { failed_sizes, merit, policy_table } from "./policies";
import { read_report, type Report, type Run } from "./report";
import { legend } from "./series";
import { by_outcome, snapshot_table } from "./snapshot";
import { stuck_cards } from "./stuck";
import { forget_repaints, theme_button } from "./theme";
import { trace_cards } from "./trace";
import {
  capital, count, device_count, devices, mean_count, name_devices, percent, plural, size_title,
} from "./words";

function start(): void {
  const page = document.getElementById("page") as HTMLElement;
  const report = read_report();
  if (!report) {
    page.replaceChildren(h("p", { class: "empty" }, "This page is the empty template of a report. ",
      "tutti sim --report FILE fills it."));
    return;
  }
  name_devices(report.fleet.all_gpus);
  document.title = `${report.headline} · Tutti`;
  const body = h("div", { class: "body" });
  const workloads = [...new Set(report.runs.map((run) => run.workload))];
  const show = (workload: string): void => {
    forget_repaints();
    body.replaceChildren(...content(report, report.runs.filter((r) => r.workload === workload)),
      ...stuck_cards(report, workload));
  };
  page.replaceChildren(top(report, workloads, show), body, foot(report));
  show(workloads[0] ?? "");
}

function top(
  report: Report, workloads: string[], show: (workload: string) => void,
): HTMLElement {
  const { fleet } = report;
  const choose = h("select", {
    id: "workload", change: (event) => show((event.target as HTMLSelectElement).value),
  }, ...workloads.map((name) => h("option", { value: name }, name)));
  const models = fleet.models.length > 1 ? ` of ${count(fleet.models.length)} models` : "";
  return h("header", { class: "top" },
    h("div", { class: "bar" }, h("span", { class: "brand" }, "tutti", h("em", {}, " sim report")),
      theme_button()),
    h("h1", {}, report.headline),
    h("p", { class: "facts" },
      h("span", {}, "fleet ", h("b", {}, fleet.name)),
      h("span", {}, plural(fleet.nodes, "node")),
      h("span", {}, `${device_count(fleet.gpus)}${models}`),
      h("span", {}, h("label", { for: "workload" }, "workload "),
        workloads.length > 1 ? choose : h("b", {}, workloads[0] ?? ""))),
    report.notes.length > 0
      ? h("ul", { class: "notes" }, ...report.notes.map((note) => h("li", {}, note)))
      : null);
}

function content(report: Report, unsorted: Run[]): HTMLElement[] {
  const runs = [...unsorted].sort((a, b) => by_outcome(a, b) || merit(a) - merit(b));
  const filled = runs.some((run) => Object.keys(run.unallocated_gpu_percent).length > 0);
  const curved = runs.filter((run) => run.curve.length > 1);
  const map = fleet_map(report, runs);
  return [
    ...snapshot_table(report, runs),
    ...(filled ? [policy_table(report, runs)] : []),
    ...(runs.length > 1 ? [legend(runs.map((run) => run.policy))] : []),
    ...trace_cards(runs),
    h("div", { class: "grid" },
      ...(curved.length > 0 ? [allocated_chart(runs), fragmented_chart(runs)] : []),
      ...left_chart(runs), ...failed_chart(runs)),
    ...(map ? [map] : []),
  ];
}

function foot(report: Report): HTMLElement {
  return h("footer", {},
    report.command ? h("p", {}, "Made by ", h("code", {}, report.command)) : null,
    h("p", {}, `tutti ${report.version}`));
}

// --- Curves over arrivals -----------------------------------------------------------------------

const by_arrival = {
  x_name: "arrived",
  x_text: (x: number) => percent(x, 0),
  x_ticks: [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200],
};

function curves(runs: Run[], value: (point: Run["curve"][number]) => number): Series[] {
  return runs.map((run, index) => ({ name: run.policy, index,
    points: run.curve.map((point) => [point.arrived_percent, value(point)] as [number, number]) }))
    .filter((series) => series.points.length > 1);
}

const last_x = (series: Series[]): number =>
  Math.max(...series.map((one) => one.points.at(-1)?.[0] ?? 0));

function allocated_chart(runs: Run[]): HTMLElement {
  const series = curves(runs, (point) => point.allocated_percent);
  const end = last_x(series);
  const lowest = Math.min(...series.map((one) => one.points.at(-1)?.[1] ?? 0));
  const near = Math.max(0, Math.floor((lowest - 8) / 10) * 10);
  const views: LineView[] = [{ label: "whole", x: [0, end], y: [0, 100] }];
  if (end > 95 && near > 0) {
    const close = { label: "near full", x: [near, end], y: [near, 100] } satisfies LineView;
    views.unshift(close);
  }
  return line_chart({ ...by_arrival, title: "Allocated against arrived", series, views,
    note: `${capital(devices())} allocated, in % of the fleet, as more and more are asked for. ` +
      "The closer to the ideal, the better.",
    y_name: "allocated", y_text: (y) => percent(y, y % 1 === 0 ? 0 : 1),
    ideal: { name: "ideal", points: [[0, 0], [100, 100], [Math.max(end, 100), 100]] } });
}

function fragmented_chart(runs: Run[]): HTMLElement {
  const series = curves(runs, (point) => point.fragmented_percent);
  const highest = Math.max(...series.flatMap((one) => one.points.map((point) => point[1])), 1);
  return line_chart({ ...by_arrival, title: "Fragmentation against arrived", series,
    note: `Free ${devices()} that a typical task of this workload cannot use, in % of the ` +
      "fleet. Less is better. The curve starts above 0\u202f% where tasks could not use all of " +
      "an empty fleet: they ask for other models, for more than a node has, or for none.",
    y_name: "fragmented", y_text: (y) => percent(y, y % 1 === 0 ? 0 : 1),
    views: [{ label: "all", x: [0, last_x(series)], y: [0, highest * 1.06] }] });
}

// --- Bars ---------------------------------------------------------------------------------------

function left_chart(runs: Run[]): HTMLElement[] {
  const models = new Map(runs.flatMap((run) => run.left_by_model)
    .map(({ model, gpus }) => [model, gpus] as const));
  if (!runs.some((run) => run.left_by_model.some((left) => left.unallocated > 0))) return [];
  const names = [...models.keys()].sort((a, b) => (models.get(b) ?? 0) - (models.get(a) ?? 0));
  const values = (divide: boolean): number[][] => names.map((name) => runs.map((run) => {
    const left = run.left_by_model.find(({ model }) => model === name);
    if (!left) return NaN;
    return divide ? (100 * left.unallocated) / Math.max(left.gpus, 1) : left.unallocated;
  }));
  return [bar_chart({
    title: "Left unallocated, by device model",
    note: `${capital(devices())} still free in the end. Less is better.`,
    groups: names.map((name) => ({ name, note: device_count(models.get(name) ?? 0) })),
    series: runs.map((run, index) => ({ name: run.policy, index })),
    views: [
      { label: devices(), value_name: devices(), values: values(false), text: mean_count },
      { label: "% of the model", value_name: "of the model", values: values(true),
        text: (value) => percent(value, value > 0 && value < 10 ? 1 : 0) },
    ],
  })];
}

function failed_chart(runs: Run[]): HTMLElement[] {
  const sizes = failed_sizes(runs);
  if (!runs.some((run) => Object.values(run.failed_before_100).some((tasks) => tasks > 0))) {
    return [];
  }
  return [bar_chart({
    title: "Failed tasks, by size",
    note: "Tasks that found no place although less than 100 % had arrived, mean over seeds. " +
      "Less is better.",
    groups: sizes.map((size) => ({ name: size_title(size) })),
    series: runs.map((run, index) => ({ name: run.policy, index })),
    views: [{ label: "tasks", value_name: "tasks", text: mean_count,
      values: sizes.map((size) => runs.map((run) => run.failed_before_100[size] ?? 0)) }],
  })];
}

start();
