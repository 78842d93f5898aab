// Where the blocks of the fleet map stand, and how they are painted. All lengths in CSS pixels.

export interface Layout {
  cell: number;
  width: number;
  height: number;
  row_height: number; // With the gap below.
  boxes: Box[]; // By node, row by row.
  rows: number[]; // First box of each row.
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  columns: number; // Of devices.
}

/** Free capacity is of use, is hardly so without cpu and memory, or takes no work at all. */
export type Fate = "free" | "starved" | "closed";

export interface Block {
  free: number[]; // In ‰ of each device.
  fate: Fate; // Of what is free.
}

export interface Colours extends Record<Fate, string> {
  used: string;
  block: string;
  mark: string;
}

const HEIGHT_AIM = 560; // Of the whole map on a wide screen.
const CELLS = [14, 12, 10, 9, 8, 7, 6, 5, 4, 3];

function box_of(devices: number, cell: number): Box {
  const columns = devices <= 2 ? Math.max(1, devices) : Math.ceil(devices / 2);
  const rows = devices <= 2 ? 1 : 2;
  return { x: 0, y: 0, width: columns * (cell + 1) + 1, height: rows * (cell + 1) + 1, columns };
}

/** Nodes with these numbers of devices, side by side, in rows of the tallest block's height. */
function group(devices: number[], cell: number, width: number): Layout {
  const gap = cell >= 6 ? 3 : 2;
  const boxes = devices.map((count) => box_of(count, cell));
  const row_height = Math.max(...boxes.map((box) => box.height)) + gap;
  const rows: number[] = [];
  let [x, used] = [width + 1, 0];
  boxes.forEach((box, at) => {
    if (x + box.width > width) {
      rows.push(at);
      x = 0;
    }
    box.x = x;
    box.y = (rows.length - 1) * row_height;
    x += box.width + gap;
    used = Math.max(used, x - gap);
  });
  return { cell, width: used, height: rows.length * row_height - gap, row_height, boxes, rows };
}

/** The largest cells with which the map keeps to its height, else the smallest. */
function cell_size(groups: number[][], width: number): number {
  const height = (cell: number): number => groups.reduce((sum, devices) =>
    sum + group(devices, cell, width).height, 0);
  return CELLS.find((cell) => height(cell) <= HEIGHT_AIM) ?? (width < 600 ? 4 : 3);
}

/** The block at a point, or the nearest one in its row; -1 outside. A gap counts as its left. */
function hit(layout: Layout, x: number, y: number): number {
  const row = Math.floor(y / layout.row_height);
  const first = layout.rows[row];
  if (first === undefined || x < 0 || x > layout.width) return -1;
  let at = first;
  const end = layout.rows[row + 1] ?? layout.boxes.length;
  while (at + 1 < end && (layout.boxes[at + 1] as Box).x <= x) ++at;
  return at;
}

/** The block above (-1) or below (1) another one, or itself at the border. */
function beside(layout: Layout, at: number, rows: number): number {
  const box = layout.boxes[at];
  const next = box ? hit(layout, box.x, box.y + rows * layout.row_height) : -1;
  return next < 0 ? at : next;
}

export const layout_of = { group, cell_size, hit, beside };

/** One pass per colour: changing the colour is what costs on a canvas. */
export function paint(
  canvas: HTMLCanvasElement, layout: Layout, blocks: Block[], colours: Colours, marked: number,
): void {
  const ratio = Math.min(3, Math.max(1, window.devicePixelRatio || 1));
  const [width, height] = [layout.width + 2, layout.height + 2];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.aspectRatio = `${width} / ${height}`;
  const brush = canvas.getContext("2d");
  if (!brush) return;
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.translate(1, 1);
  brush.fillStyle = colours.block;
  for (const box of layout.boxes) brush.fillRect(box.x, box.y, box.width, box.height);
  const cells = (colour: string, wanted: (block: Block) => boolean, used: boolean): void => {
    brush.fillStyle = colour;
    blocks.forEach((block, at) => {
      if (wanted(block)) paint_cells(brush, layout.boxes[at] as Box, layout.cell, block, used);
    });
  };
  cells(colours.used, () => true, true);
  for (const fate of ["free", "starved", "closed"] as const) {
    cells(colours[fate], (block) => block.fate === fate, false);
  }
  const mark = layout.boxes[marked];
  if (!mark) return;
  brush.strokeStyle = colours.mark;
  brush.lineWidth = 2;
  brush.strokeRect(mark.x - 0.5, mark.y - 0.5, mark.width + 1, mark.height + 1);
}

function paint_cells(
  brush: CanvasRenderingContext2D, box: Box, cell: number, block: Block, used: boolean,
): void {
  block.free.forEach((free, device) => {
    const left = box.x + 1 + (device % box.columns) * (cell + 1);
    const top = box.y + 1 + Math.floor(device / box.columns) * (cell + 1);
    const upper = Math.round((free / 1000) * cell * 2) / 2; // The free part, above.
    if (used) brush.fillRect(left, top + upper, cell, cell - upper);
    else brush.fillRect(left, top, cell, upper);
  });
}
