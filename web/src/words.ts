// Numbers and names as a reader wants them.

const thin = "\u202f"; // Narrow space that does not break.

export function count(value: number, digits = 0): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits, maximumFractionDigits: digits,
  }).replaceAll(",", thin);
}

export function percent(value: number, digits = 1): string {
  return `${count(value, digits)}${thin}%`;
}

/** Means of counts over seeds: one digit only where it says something. */
export function mean_count(value: number): string {
  return count(value, value > 0 && value < 10 && !Number.isInteger(value) ? 1 : 0);
}

export function rate(value: number): string {
  if (value >= 1e6) return `${count(value / 1e6, 2)} M`;
  if (value >= 1e4) return `${count(value / 1e3)} k`;
  return value > 0 ? count(value) : "–";
}

export function duration(seconds: number): string {
  if (seconds < 1) return seconds > 0 ? "< 1 s" : "0 s";
  if (seconds < 90) return `${count(seconds)} s`;
  if (seconds < 90 * 60) return `${count(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${count(seconds / 3600, 1)} h`;
  return `${count(seconds / 86400, 1)} d`;
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

let device = "GPU";

/** Before anything is drawn: does the page speak of GPUs, or of accelerators? */
export function name_devices(all_gpus: boolean): void {
  device = all_gpus ? "GPU" : "accelerator";
}

/** "GPUs", or what its devices are called. */
export function devices(): string {
  return `${device}s`;
}

export function device_count(value: number, quality = ""): string {
  return plural(value, quality + device);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The sizes of tasks: cpu, share, 1, 2, 4, 8 in this order. */
export function compare_sizes(a: string, b: string): number {
  const rank = (size: string): number => size === "cpu" ? -2 : size === "share" ? -1 : Number(size);
  return rank(a) - rank(b) || a.localeCompare(b);
}

export function size_title(size: string): string {
  if (size === "cpu") return "CPU only";
  if (size === "share") return `${capital(device)} share`;
  return /^\d+$/.test(size) ? device_count(Number(size)) : size;
}
