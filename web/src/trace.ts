// What a replayed trace adds: how long jobs waited and how full the fleet was over time.
import { card, h, head_of, scrolling } from "./dom";
import { line_chart, type Series } from "./lines";
import type { Run, Trace } from "./report";
import { swatch } from "./series";
import { count, devices, duration, percent } from "./words";

interface Traced extends Run {
  trace: Trace;
}

export function trace_cards(runs: Run[]): HTMLElement[] {
  const traced = runs.filter((run): run is Traced => run.trace !== undefined);
  if (traced.length === 0) return [];
  const index = (run: Run): number => runs.indexOf(run);
  const days = Math.max(...traced.map((run) => run.trace.makespan_s)) > 3 * 86400;
  const unit = days ? 86400 : 3600;
  const lines = (value: (point: Trace["over_time"][number]) => number): Series[] =>
    traced.map((run) => ({ name: run.policy, index: index(run),
      points: run.trace.over_time.map((point) => [point.at_s / unit, value(point)]) }));
  const used = lines((point) => point.allocated_percent);
  const queued = lines((point) => point.queued_jobs);
  const end = Math.max(...used.flatMap((series) => series.points.map((point) => point[0])), 0);
  const longest = Math.max(...queued.flatMap((series) => series.points.map((p) => p[1])), 1);
  const time = {
    x_name: days ? "days" : "hours", x_text: (x: number) => count(x, x % 1 === 0 ? 0 : 1),
    steps: true, ends: false,
  };
  return [
    wait_table(traced, index),
    h("div", { class: "grid" },
      line_chart({ ...time, title: "Utilisation over time", series: used,
        note: `Allocated ${devices()} in % of the fleet, from the first job's arrival on.`,
        y_name: "allocated", y_text: (y) => percent(y, 0),
        views: [{ label: "all", x: [0, end || 1], y: [0, 100] }] }),
      line_chart({ ...time, title: "Waiting jobs over time", series: queued,
        note: "Jobs that have arrived and not started.",
        y_name: "jobs", y_text: (y) => count(y),
        views: [{ label: "all", x: [0, end || 1], y: [0, longest * 1.05] }] })),
  ];
}

function wait_table(runs: Traced[], index: (run: Run) => number): HTMLElement {
  // How the means spread over seeds is not known: what reads the same is no difference.
  const means = runs.map((run) => run.trace.wait_s.mean).sort((a, b) => a - b);
  const shortest = duration(means[0] ?? 0);
  const differs = means.length > 1 && shortest !== duration(means[1] ?? 0);
  const head = ["Policy", "Mean wait", "Median", "95 of 100 wait less than", "99 of 100",
    "Longest", "Utilisation", "All done after", "Finished jobs"];
  const rows = runs.map((run) => {
    const { wait_s: wait, ...trace } = run.trace;
    const best = differs && duration(wait.mean) === shortest;
    return h("tr", { class: best ? "best" : undefined },
      h("th", { scope: "row" }, h("span", { class: "policy" }, swatch(index(run)), run.policy,
        best ? h("span", { class: "badge" }, "shortest") : null)),
      h("td", {}, h("b", {}, duration(wait.mean))),
      ...[wait.p50, wait.p95, wait.p99, wait.max].map((s) => h("td", {}, duration(s))),
      h("td", {}, percent(trace.utilisation_percent)),
      h("td", {}, duration(trace.makespan_s)),
      h("td", {}, `${count(trace.finished)} of ${count(trace.jobs)}`));
  });
  return card("Waits and utilisation",
    "How long jobs waited from arrival to start; a job that never did counts as waiting until " +
    `the end. Utilisation is the mean share of ${devices()} allocated until the last job arrives.`,
    scrolling("Waits",
      h("table", { class: "policies" }, head_of(head), h("tbody", {}, ...rows))));
}
