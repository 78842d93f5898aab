// The report's JSON, as src/sim/report.h documents and writes it.

export interface Report {
  version: string;
  headline: string;
  command: string;
  fleet: Fleet;
  runs: Run[];
  notes: string[]; // What else to know of the figures.
  never_start: Stuck[];
  waiting: Stuck[];
}

/** Jobs of one kind that did not start, or some of which did not. */
export interface Stuck {
  workload: string;
  policy: string; // Empty where none would help.
  job: string; // One of them.
  jobs: number;
  started: number;
  runs_at_present: boolean;
  never: boolean; // They are among never_start.
  why: string; // Lines; may be empty.
}

export interface Fleet {
  name: string;
  nodes: number;
  gpus: number;
  all_gpus: boolean;
  models: { model: string; nodes: number; gpus: number }[];
  // One entry per node, in one order for all runs' maps.
  node_names: string[];
  node_models: number[]; // Index in models, -1 for a node without accelerators.
  node_devices: number[];
  closed_nodes: number[]; // Cordoned or not ready.
}

export interface Spread {
  mean: number;
  sd: number;
}

export interface Run {
  policy: string;
  workload: string;
  seeds: number[];
  curve: { arrived_percent: number; allocated_percent: number; fragmented_percent: number }[];
  unallocated_gpu_percent: Record<string, Spread>; // By arrived %.
  left_by_model: { model: string; gpus: number; unallocated: number }[];
  failed_before_100: Record<string, number>; // By size.
  decisions_per_second: number;
  map?: NodeMap;
  trace?: Trace;
  snapshot?: Snapshot;
}

/** The pods of a cluster's dump, placed anew. */
export interface Snapshot {
  gpus_allocated: number;
  running: number;
  running_unplaced: number;
  pending: number;
  pending_started: number;
  free_whole_nodes: number;
  largest_gang_8gpu: number;
}

export interface NodeMap {
  cpu_free_percent: number[]; // Per node.
  memory_free_percent: number[];
  device_free_permille: number[]; // Per device, the nodes' devices one after the other.
}

export interface Trace {
  jobs: number;
  finished: number;
  makespan_s: number;
  utilisation_percent: number;
  wait_s: { mean: number; p50: number; p95: number; p99: number; max: number };
  over_time: { at_s: number; allocated_percent: number; queued_jobs: number }[];
}

/** The report in this page, or null in the bare template. */
export function read_report(): Report | null {
  const text = document.getElementById("data")?.textContent ?? "";
  return text.startsWith("{") ? (JSON.parse(text) as Report) : null;
}
