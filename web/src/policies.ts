// The table that answers "which policy, and by how much": one row per policy, best first.
import { card, h, svg } from "./dom";
import type { Report, Run, Spread } from "./report";
import { swatch } from "./series";
import { compare_sizes, count, mean_count, percent, rate, size_title } from "./words";

/** Less is better: % unallocated at 100 % arrived or at the last mark, else the mean wait. */
export function merit(run: Run): number {
  const marks = run.unallocated_gpu_percent;
  return marks["100"]?.mean ?? Object.values(marks).at(-1)?.mean ?? run.trace?.wait_s.mean ??
    Infinity;
}

export function failed_sizes(runs: Run[]): string[] {
  const sizes = new Set(runs.flatMap((run) => Object.keys(run.failed_before_100)));
  return [...sizes].sort(compare_sizes);
}

export function policy_table(report: Report, runs: Run[]): HTMLElement {
  const marks = ["100", "130"].filter((mark) =>
    runs.some((run) => run.unallocated_gpu_percent[mark]));
  const sizes = failed_sizes(runs);
  const scale = Math.max(...runs.flatMap((run) =>
    marks.map((mark) => run.unallocated_gpu_percent[mark]?.mean ?? 0)), 0.001) * 1.08;
  const best = Math.min(...runs.map(merit));
  const rows = runs.map((run, index) => h("tr", { class: merit(run) === best ? "best" : undefined },
    h("th", { scope: "row" }, h("span", { class: "policy" }, swatch(index), run.policy,
      merit(run) === best && runs.length > 1 ? h("span", { class: "badge" }, "best") : null)),
    ...marks.map((mark) =>
      spread_cell(run.unallocated_gpu_percent[mark], scale, index, report.fleet.gpus)),
    ...sizes.map((size) => h("td", { class: zero(run.failed_before_100[size]) },
      mean_count(run.failed_before_100[size] ?? 0))),
    h("td", {}, rate(run.decisions_per_second))));
  const seeds = Math.max(...runs.map((run) => run.seeds.length));
  return card("Policies", note(report, seeds),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Policies" },
      h("table", { class: "policies" },
        h("thead", {},
          h("tr", {},
            h("th", { scope: "col", rowspan: 2 }, "Policy"),
            ...marks.map((mark) => h("th", { scope: "col", rowspan: 2, class: "wide" },
              `Unallocated at ${mark}\u202f% arrived`)),
            sizes.length > 0
              ? h("th", { scope: "colgroup", colspan: sizes.length, class: "group" },
                  "Failed tasks before 100\u202f% arrived")
              : null,
            h("th", { scope: "col", rowspan: 2 }, "Decisions/s")),
          h("tr", {}, ...sizes.map((size) => h("th", { scope: "col" }, size_title(size))))),
        h("tbody", {}, ...rows))));
}

function note(report: Report, seeds: number): string {
  const spread = seeds > 1
    ? ` Mean ± standard deviation over ${count(seeds)} seeds.`
    : " One seed, so no spread is known.";
  return `Share of the fleet's ${count(report.fleet.gpus)} GPUs that stays unallocated when the ` +
    `tasks that arrived ask for 100 % or more of it. Less is better.${spread}`;
}

function zero(value: number | undefined): string | undefined {
  return value ? undefined : "zero";
}

/** A bar with a whisker of one standard deviation, its percentage and its GPUs. */
function spread_cell(
  spread: Spread | undefined, scale: number, index: number, gpus: number,
): HTMLElement {
  if (!spread) return h("td", { class: "wide zero" }, "–");
  const at = (value: number): number => Math.max(0, Math.min(100, (value / scale) * 100));
  const bar = svg("svg", { class: "spread", viewBox: "0 0 100 8", preserveAspectRatio: "none",
    "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 0, width: 100, height: 8 }),
    svg("rect", { class: `bar s${index % 8}`, "data-series": index, x: 0, y: 0,
      width: at(spread.mean), height: 8 }),
    spread.sd > 0
      ? svg("rect", { class: "whisker", x: at(spread.mean - spread.sd), y: 3,
          width: at(spread.mean + spread.sd) - at(spread.mean - spread.sd), height: 2 })
      : null);
  return h("td", { class: "wide" },
    h("div", { class: "figures" },
      h("b", {}, percent(spread.mean)),
      spread.sd > 0 ? h("span", { class: "sd" }, `± ${count(spread.sd, 1)}`) : null,
      h("span", { class: "gpus" }, `${count((spread.mean / 100) * gpus)} GPUs`)),
    bar);
}
