// What the dump of a cluster adds: where its pods stand, and where policies would place them.
import { card, h, head_of, scrolling } from "./dom";
import { percent_bar } from "./policies";
import type { Report, Run, Snapshot } from "./report";
import { swatch } from "./series";
import { capital, count, devices } from "./words";

interface Placed extends Run {
  snapshot: Snapshot;
}

const placed = (run: Run): run is Placed => run.snapshot !== undefined;

/** Less is better, the first that differs counts; what the dump itself records comes first. */
function ranks(run: Placed): number[] {
  const end = run.snapshot;
  return [run.policy === "present" ? 0 : 1, end.running_unplaced, -end.gpus_allocated,
    -end.pending_started, -end.free_whole_nodes, -end.largest_gang_8gpu];
}

export function by_outcome(a: Run, b: Run): number {
  if (!placed(a) || !placed(b)) return 0;
  const theirs = ranks(b);
  return ranks(a).map((rank, at) => rank - (theirs[at] ?? 0)).find((gap) => gap !== 0) ?? 0;
}

export function snapshot_table(report: Report, unsure: Run[]): HTMLElement[] {
  const runs = unsure.filter(placed);
  if (runs.length === 0) return [];
  const head = ["Policy", `${capital(devices())} allocated`, "Pending started", "Running unplaced",
    "Whole nodes free", `Largest gang of tasks with 8 ${devices()}`];
  const table = h("table", { class: "policies anew" }, head_of(head),
    h("tbody", {}, ...runs.map((run, index) => row_of(run, index, report.fleet.gpus))));
  return [card("Policies",
    "The cluster at present, and how it would look if each policy had placed its pods: first " +
    "those that run, by age, then those that are pending. With jobs of one's own, what runs " +
    "stays where it is, and they come last.", scrolling("Policies", table))];
}

function row_of(run: Placed, index: number, gpus: number): HTMLElement {
  const end = run.snapshot;
  const share = (100 * end.gpus_allocated) / Math.max(gpus, 1);
  const cell = (value: number, of?: number): HTMLElement =>
    h("td", { class: value > 0 ? undefined : "zero" },
      count(value), of === undefined ? null : h("span", { class: "of" }, ` of ${count(of)}`));
  return h("tr", {},
    h("th", { scope: "row" }, h("span", { class: "policy" }, swatch(index), run.policy)),
    h("td", { class: "wide" },
      h("div", { class: "figures" },
        h("b", {}, count(end.gpus_allocated, Number.isInteger(end.gpus_allocated) ? 0 : 1)),
        h("span", { class: "gpus" }, `of ${count(gpus)}`)),
      percent_bar({ mean: share, sd: 0 }, index)),
    cell(end.pending_started, end.pending), cell(end.running_unplaced, end.running),
    cell(end.free_whole_nodes), cell(end.largest_gang_8gpu));
}
