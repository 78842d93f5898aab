// Jobs that did not start, and why: what the terminal says, under the same headings.
import { card, h } from "./dom";
import type { Report, Stuck } from "./report";
import { plural } from "./words";

export function stuck_cards(report: Report, workload: string): HTMLElement[] {
  const here = (jobs: Stuck[]): Stuck[] => jobs.filter((stuck) => stuck.workload === workload);
  const never = here(report.never_start);
  const waiting = here(report.waiting);
  const policies = [...new Set(waiting.map((stuck) => stuck.policy))];
  return [
    ...policies.map((policy) => waiting_card(report, policy,
      waiting.filter((stuck) => stuck.policy === policy))),
    ...(never.length > 0 ? [never_card(never)] : []),
  ];
}

function waiting_card(report: Report, policy: string, kinds: Stuck[]): HTMLElement {
  const snapshot = report.runs.some((run) => run.snapshot);
  const title = policy === "present" ? "Waiting at present"
    : snapshot ? `What waits, with ${policy}` : `Not started with ${policy} when the run ended`;
  return card(title, "Equal jobs are one entry.", ...kinds.map((stuck) => {
    const waits = stuck.jobs - stuck.started;
    const others = stuck.started > 0 && waits > 0
      ? `, ${plural(stuck.started, "other")} would start` : "";
    const ran = stuck.runs_at_present ? ", running at present" : "";
    const end = waits === 0 ? "would start" : stuck.never ? "can never start" : "";
    return entry(stuck.job, (waits || stuck.jobs) - 1, ran + others, end, stuck.why);
  }));
}

function never_card(kinds: Stuck[]): HTMLElement {
  const jobs = kinds.reduce((sum, stuck) => sum + stuck.jobs, 0);
  return card("Can never start",
    `${plural(jobs, "job")} would find no place on this fleet, however empty it is.`,
    ...kinds.map((stuck) => entry(stuck.job, stuck.jobs - 1, "", "", stuck.why)));
}

/** "train-0 and 11 more like it: waits", and the lines below it. */
function entry(job: string, more: number, about: string, end: string, why: string): HTMLElement {
  const [first, ...rest] = why.trimEnd().split("\n");
  const said = [end, first].filter((text) => text).join("; ");
  return h("div", { class: "stuck" },
    h("p", {}, h("b", {}, job), more > 0 ? ` and ${more} more like it` : "", about,
      said ? `: ${said}` : ""),
    rest.length > 0
      ? h("pre", {}, rest.map((line) => line.replace(/^ {2}/, "")).join("\n")) : null);
}
