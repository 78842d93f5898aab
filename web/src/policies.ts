// The table that answers "which policy, and by how much": one row per policy, best first.
import { card, h, scrolling, svg } from "./dom";
import type { Report, Run, Spread } from "./report";
import { swatch } from "./series";
import { compare_sizes, count, devices, mean_count, percent, rate, size_title } from "./words";

/** % unallocated at 100 % arrived or at the last mark. */
function result_of(run: Run): Spread | undefined {
  const marks = run.unallocated_gpu_percent;
  return marks["100"] ?? Object.values(marks).at(-1);
}

/** Less is better: what stays unallocated, else the mean wait. */
export function merit(run: Run): number {
  return result_of(run)?.mean ?? run.trace?.wait_s.mean ?? Infinity;
}

/** Is the first of the runs, best first, ahead of the second by more than a standard error? */
function stands_out(runs: Run[]): boolean {
  const [best, next] = runs.map(result_of);
  const seeds = runs[0]?.seeds.length ?? 0;
  if (!best || !next || seeds < 2) return false;
  return next.mean - best.mean > Math.hypot(best.sd, next.sd) / Math.sqrt(seeds);
}

export function failed_sizes(runs: Run[]): string[] {
  const sizes = new Set(runs.flatMap((run) => Object.keys(run.failed_before_100)));
  return [...sizes].sort(compare_sizes);
}

export function policy_table(report: Report, runs: Run[]): HTMLElement {
  const marks = ["100", "130"].filter((mark) =>
    runs.some((run) => run.unallocated_gpu_percent[mark]));
  const sizes = failed_sizes(runs);
  const best = stands_out(runs) ? 0 : -1;
  const rows = runs.map((run, index) => h("tr", { class: index === best ? "best" : undefined },
    h("th", { scope: "row" }, h("span", { class: "policy" }, swatch(index), run.policy,
      index === best ? h("span", { class: "badge" }, "best") : null)),
    ...marks.map((mark) =>
      spread_cell(run.unallocated_gpu_percent[mark], index, report.fleet.gpus)),
    ...sizes.map((size) => h("td", { class: zero(run.failed_before_100[size]) },
      mean_count(run.failed_before_100[size] ?? 0))),
    h("td", {}, rate(run.decisions_per_second))));
  const seeds = Math.max(...runs.map((run) => run.seeds.length));
  return card("Policies", note(report, seeds),
    scrolling("Policies",
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
  const fleet = `${count(report.fleet.gpus)} ${devices()}`;
  return `Share of the fleet's ${fleet} that stays unallocated when the ` +
    `tasks that arrived ask for 100 % or more of it. Less is better.${spread}`;
}

function zero(value: number | undefined): string | undefined {
  return value ? undefined : "zero";
}

/** A bar of 0 to 100 % with a whisker of one standard deviation. */
export function percent_bar({ mean, sd }: Spread, index: number): SVGElement {
  const at = (value: number): number => Math.max(0, Math.min(100, value));
  return svg("svg", { class: "spread", viewBox: "0 0 100 8", preserveAspectRatio: "none",
    "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 0, width: 100, height: 8 }),
    svg("rect", { class: `bar s${index % 8}`, "data-series": index, x: 0, y: 0,
      width: at(mean), height: 8 }),
    sd > 0
      ? svg("rect", { class: "whisker", x: at(mean - sd), y: 3,
          width: at(mean + sd) - at(mean - sd), height: 2 })
      : null);
}

/** A percentage, its devices and its bar. */
function spread_cell(spread: Spread | undefined, index: number, gpus: number): HTMLElement {
  if (!spread) return h("td", { class: "wide zero" }, "–");
  return h("td", { class: "wide" },
    h("div", { class: "figures" },
      h("b", {}, percent(spread.mean)),
      spread.sd > 0 ? h("span", { class: "sd" }, `± ${count(spread.sd, 1)}`) : null,
      h("span", { class: "gpus" }, `${count((spread.mean / 100) * gpus)} ${devices()}`)),
    percent_bar(spread, index));
}
