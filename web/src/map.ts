// The fleet map: one small block per node, one cell per device, filled from below as far as the
// device is allocated. Idle capacity is the loud colour. A canvas per device model, so that ten
// thousand nodes stay quick.
import { card, choice, h } from "./dom";
import { layout_of, paint, type Layout } from "./map_paint";
import type { Fleet, NodeMap, Report, Run } from "./report";
import { css_colour, on_repaint } from "./theme";
import { Tooltip } from "./tooltip";
import { mean_count, percent, plural } from "./words";

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
  const area = h("div", { class: "map" });
  const summary = h("p", { class: "map-summary", role: "status" });
  let chosen = 0;
  let order = 0;
  const show = (): void => {
    const map = mapped[chosen]?.map as NodeMap;
    const seen = { fleet: report.fleet, map, first_device };
    summary.replaceChildren(h("b", {}, mapped[chosen]?.policy ?? ""), ` ${summary_of(seen)}`);
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
  return card("Fleet map", "Every block is a node, every cell one of its devices after the last " +
    "arrival, filled as far as it is allocated. Point at a node, or use the arrow keys.",
    h("div", { class: "map-bar" },
      choice("Policy", mapped.map((run) => run.policy), 0, (next) => {
        chosen = next;
        show();
      }),
      choice("Order of nodes", orders, 0, (next) => {
        order = next;
        show();
      })),
    h("div", { class: "map-bar" }, summary, key()),
    area);
}

function key(): HTMLElement {
  const entry = (name: string, text: string): HTMLElement =>
    h("span", {}, h("i", { class: `key ${name}`, "aria-hidden": "true" }), text);
  return h("div", { class: "keys" }, entry("used", "allocated"), entry("half", "half allocated"),
    entry("free", "free"), entry("starved", "free, but < 5\u202f% of CPU or memory left"));
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

function starved(seen: Seen, node: number): boolean {
  return (seen.map.cpu_free_percent[node] ?? 100) < 5 ||
    (seen.map.memory_free_percent[node] ?? 100) < 5;
}

function summary_of(seen: Seen): string {
  const all = seen.map.device_free_permille;
  const whole = all.filter((free) => free === 1000).length;
  const parts = all.filter((free) => free > 0 && free < 1000);
  const stuck = seen.fleet.node_names.reduce((total, _, node) =>
    starved(seen, node) ? total + sum(free_of(seen, node)) : total, 0);
  const split = sum(parts) / 1000;
  const fate = stuck > 0
    ? ` Of all that, ${mean_count(stuck / 1000)} are on nodes with almost no CPU or memory left.`
    : "";
  return `leaves ${plural(whole, "whole GPU")} free, and ${mean_count(split)} more in parts of ` +
    `${plural(parts.length, "GPU")}.${fate}`;
}

function draw_groups(area: HTMLElement, seen: Seen, groups: Group[], sorted: boolean): void {
  const width = area.clientWidth;
  const cell = layout_of.cell_size(groups.map((group) => devices_of(seen, group.nodes)), width);
  area.replaceChildren(...groups.map((group) => {
    const nodes = [...group.nodes];
    const idle = (node: number): number => group.devices === 0
      ? (seen.map.cpu_free_percent[node] ?? 0) : sum(free_of(seen, node));
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
    starved: group.devices > 0 && starved(seen, node),
  }));
  const colours = {
    used: css_colour(group.devices > 0 ? "--map-used" : "--map-plain"),
    free: css_colour(group.devices > 0 ? "--map-free" : "--map-plain-free"),
    starved: css_colour("--map-starved"),
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
  const total = blocks.reduce((all, one) => all + sum(one.free), 0) / 1000;
  const title = title_of(seen, group, total);
  canvas.setAttribute("aria-label", `${title}. Arrow keys go from node to node.`);
  return h("div", { class: "map-group" },
    h("h3", {}, group.model, " ", h("span", {}, title)),
    h("div", { class: "map-canvas" }, canvas, tooltip.element));
}

function title_of(seen: Seen, group: Group, free: number): string {
  const nodes = plural(group.nodes.length, "node");
  if (group.devices === 0) return `${nodes}, filled as far as their CPU is used`;
  const gpus = sum(devices_of(seen, group.nodes));
  const share = percent((100 * free) / Math.max(gpus, 1));
  return `${nodes} · ${plural(gpus, "GPU")} · ${mean_count(free)} free (${share})`;
}

function rows_of(seen: Seen, node: number): { series: number; name: string; value: string }[] {
  const model = seen.fleet.models[seen.fleet.node_models[node] ?? -1]?.model;
  const row = (name: string, value: string) => ({ series: -1, name, value });
  const free = free_of(seen, node);
  const whole = free.filter((value) => value === 1000).length;
  const parts = free.map((value, at) => [at, value] as const)
    .filter(([, value]) => value > 0 && value < 1000);
  return [
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
