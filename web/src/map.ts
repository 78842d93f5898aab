// The fleet map: one small block per node, one cell per device, filled from below as far as the
// device is allocated. Idle capacity is the loud colour. A canvas per device model, so that ten
// thousand nodes stay quick.
import { card, choice, h } from "./dom";
import { type Fate, layout_of, paint, type Layout } from "./map_paint";
import type { Fleet, NodeMap, Report, Run } from "./report";
import { css_colour, on_repaint } from "./theme";
import { Tooltip } from "./tooltip";
import { device_count, mean_count, percent, plural } from "./words";

/** One device model's nodes, in the order in which they are drawn. */
interface Group {
  model: string;
  devices: number; // Of its largest node; 0 for nodes without accelerators.
  nodes: number[];
}

interface Seen {
  fleet: Fleet;
  map: NodeMap;
  first_device: number[]; // Of each node, in map.device_free_permille.
  closed: Set<number>;
}

const orders = ["most idle first", "as listed"];

export function fleet_map(report: Report, runs: Run[]): HTMLElement | null {
  const mapped = runs.filter((run) => run.map);
  if (mapped.length === 0 || report.fleet.node_names.length === 0) return null;
  const first_device: number[] = [];
  report.fleet.node_devices.reduce((sum, devices, node) => {
    first_device[node] = sum;
    return sum + devices;
  }, 0);
  const groups = groups_of(report.fleet);
  const closed = new Set(report.fleet.closed_nodes);
  const area = h("div", { class: "map" });
  const summary = h("p", { class: "map-summary", role: "status" });
  let chosen = 0;
  let order = 0;
  const show = (): void => {
    const run = mapped[chosen] as Run;
    const seen = { fleet: report.fleet, map: run.map as NodeMap, first_device, closed };
    summary.replaceChildren(h("b", {}, run.policy), `${moment_of(run)} ${summary_of(seen)}`);
    draw_groups(area, seen, groups, order === 0);
  };
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry?.contentRect.width ?? 0);
    if (now <= 0 || now === width) return;
    width = now;
    show();
  }).observe(area);
  on_repaint(() => show());
  return card("Fleet map", "Every block is a node, every cell one of its devices, filled as far " +
    "as it is allocated. Point at a node, or use the arrow keys.",
    h("div", { class: "map-bar" },
      choice("Policy", mapped.map((run) => run.policy), 0, (next) => {
        chosen = next;
        show();
      }),
      choice("Order of nodes", orders, 0, (next) => {
        order = next;
        show();
      })),
    h("div", { class: "map-bar" }, summary, key(closed.size > 0)),
    area);
}

/** Which end is seen: a map is of one seed, unlike all other figures. */
function moment_of(run: Run): string {
  return run.seeds.length > 0 ? ` with seed ${run.seeds[0]}, after the last arrival,` : "";
}

function key(closed: boolean): HTMLElement {
  const entry = (name: string, text: string): HTMLElement =>
    h("span", {}, h("i", { class: `key ${name}`, "aria-hidden": "true" }), text);
  return h("div", { class: "keys" }, entry("used", "allocated"), entry("half", "half allocated"),
    entry("free", "free"), entry("starved", "free, but < 5\u202f% of CPU or memory left"),
    closed ? entry("closed", "takes no work: cordoned or not ready") : null);
}

function groups_of(fleet: Fleet): Group[] {
  const groups: Group[] = fleet.models.map(({ model }) => ({ model, devices: 0, nodes: [] }));
  const plain: Group = { model: "without accelerators", devices: 0, nodes: [] };
  fleet.node_models.forEach((model, node) => {
    const group = groups[model] ?? plain;
    group.nodes.push(node);
    group.devices = Math.max(group.devices, fleet.node_devices[node] ?? 0);
  });
  const size = (group: Group): number => group.nodes.length * group.devices;
  return [...groups.sort((a, b) => size(b) - size(a)), plain]
    .filter((group) => group.nodes.length > 0);
}

function free_of(seen: Seen, node: number): number[] {
  const first = seen.first_device[node] ?? 0;
  return seen.map.device_free_permille.slice(first, first + (seen.fleet.node_devices[node] ?? 0));
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

function fate_of(seen: Seen, node: number, has_devices = true): Fate {
  if (seen.closed.has(node)) return "closed";
  if (!has_devices) return "free";
  const left = Math.min(seen.map.cpu_free_percent[node] ?? 100,
    seen.map.memory_free_percent[node] ?? 100);
  return left < 5 ? "starved" : "free";
}

/** In ‰, over nodes that take work. */
function open_of(seen: Seen, nodes: number[]): number[] {
  return nodes.filter((node) => !seen.closed.has(node)).flatMap((node) => free_of(seen, node));
}

function summary_of(seen: Seen): string {
  const nodes = [...seen.fleet.node_names.keys()];
  const all = open_of(seen, nodes);
  const whole = all.filter((free) => free === 1000).length;
  const parts = all.filter((free) => free > 0 && free < 1000);
  const stuck = sum(nodes.filter((node) => fate_of(seen, node) === "starved")
    .flatMap((node) => free_of(seen, node)));
  const split = sum(parts) / 1000;
  const fate = stuck > 0
    ? ` Of all that, ${mean_count(stuck / 1000)} are on nodes with almost no CPU or memory left.`
    : "";
  const more = parts.length > 0
    ? `, and ${mean_count(split)} more in parts of ${device_count(parts.length)}` : "";
  const closed = seen.closed.size > 0
    ? ` Not open to work, cordoned or not ready: ${plural(seen.closed.size, "node")}.` : "";
  return `leaves ${device_count(whole, "whole ")} free${more}.${fate}${closed}`;
}

function draw_groups(area: HTMLElement, seen: Seen, groups: Group[], sorted: boolean): void {
  const width = area.clientWidth;
  const cell = layout_of.cell_size(groups.map((group) => devices_of(seen, group.nodes)), width);
  area.replaceChildren(...groups.map((group) => {
    const nodes = [...group.nodes];
    const idle = (node: number): number => {
      if (seen.closed.has(node)) return -1;
      return group.devices === 0 ? (seen.map.cpu_free_percent[node] ?? 0)
        : sum(free_of(seen, node));
    };
    if (sorted) nodes.sort((a, b) => idle(b) - idle(a) || a - b);
    return draw_group(seen, { ...group, nodes }, cell, width);
  }));
}

function devices_of(seen: Seen, nodes: number[]): number[] {
  return nodes.map((node) => seen.fleet.node_devices[node] ?? 0);
}

function draw_group(seen: Seen, group: Group, cell: number, width: number): HTMLElement {
  const layout = layout_of.group(devices_of(seen, group.nodes), cell, width);
  const canvas = h("canvas", { tabindex: 0, role: "img" });
  const tooltip = new Tooltip();
  const blocks = group.nodes.map((node) => ({
    free: group.devices > 0 ? free_of(seen, node) : [(seen.map.cpu_free_percent[node] ?? 0) * 10],
    fate: fate_of(seen, node, group.devices > 0),
  }));
  const colours = {
    used: css_colour(group.devices > 0 ? "--map-used" : "--map-plain"),
    free: css_colour(group.devices > 0 ? "--map-free" : "--map-plain-free"),
    starved: css_colour("--map-starved"),
    closed: css_colour("--map-closed"),
    block: css_colour("--map-block"),
    mark: css_colour("--text"),
  };
  paint(canvas, layout, blocks, colours, -1);
  const pointed = (at: number): void => {
    paint(canvas, layout, blocks, colours, at);
    const [node, box] = [group.nodes[at], layout.boxes[at]];
    if (node === undefined || !box) return tooltip.hide();
    tooltip.show(box.x + box.width, box.y + box.height + 6,
      seen.fleet.node_names[node] ?? "", rows_of(seen, node));
  };
  follow(canvas, layout, pointed);
  const title = title_of(seen, group);
  canvas.setAttribute("aria-label", `${title}. Arrow keys go from node to node.`);
  return h("div", { class: "map-group" },
    h("h3", {}, group.model, " ", h("span", {}, title)),
    h("div", { class: "map-canvas" }, canvas, tooltip.element));
}

function title_of(seen: Seen, group: Group): string {
  const nodes = plural(group.nodes.length, "node");
  if (group.devices === 0) return `${nodes}, filled as far as their CPU is used`;
  const gpus = sum(devices_of(seen, group.nodes));
  const free = sum(open_of(seen, group.nodes)) / 1000;
  const share = percent((100 * free) / Math.max(gpus, 1));
  return `${nodes} · ${device_count(gpus)} · ${mean_count(free)} free (${share})`;
}

function rows_of(seen: Seen, node: number): { series: number; name: string; value: string }[] {
  const model = seen.fleet.models[seen.fleet.node_models[node] ?? -1]?.model;
  const row = (name: string, value: string) => ({ series: -1, name, value });
  const free = free_of(seen, node);
  const whole = free.filter((value) => value === 1000).length;
  const parts = free.map((value, at) => [at, value] as const)
    .filter(([, value]) => value > 0 && value < 1000);
  return [
    ...(seen.closed.has(node) ? [row("takes no work", "cordoned or not ready")] : []),
    ...(model ? [row(`${free.length} × ${model}`, `${whole} free`)] : []),
    ...parts.map(([at, value]) => row(`device ${at}`, `${percent(value / 10, 0)} free`)),
    row("cpu free", percent(seen.map.cpu_free_percent[node] ?? 0, 0)),
    row("memory free", percent(seen.map.memory_free_percent[node] ?? 0, 0)),
  ];
}

/** Calls `pointed` with the block under the pointer or the keyboard's; -1 for none. */
function follow(canvas: HTMLCanvasElement, layout: Layout, pointed: (at: number) => void): void {
  let now = -1;
  const go = (next: number): void => {
    if (next === now) return;
    now = next;
    pointed(now);
  };
  canvas.addEventListener("pointermove", (event) =>
    go(layout_of.hit(layout, event.offsetX - 1, event.offsetY - 1)));
  canvas.addEventListener("pointerleave", () => go(-1));
  canvas.addEventListener("blur", () => go(-1));
  canvas.addEventListener("keydown", (event) => {
    const last = layout.boxes.length - 1;
    const next = { ArrowRight: Math.min(now + 1, last), ArrowLeft: Math.max(now - 1, 0),
      ArrowDown: now < 0 ? 0 : layout_of.beside(layout, now, 1),
      ArrowUp: now < 0 ? 0 : layout_of.beside(layout, now, -1),
      Home: 0, End: last, Escape: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    go(next);
  });
}
