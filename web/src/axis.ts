// The range and the ticks of an axis. The rules are those of the printed figures (src/report/axis.cpp).
import { barEnds } from "./bars";
import { tickLabel } from "./format";
import type { Panel } from "./types";

export interface Axis {
  log: boolean;
  from: number;
  to: number;
}

export interface Tick {
  value: number;
  label: string;
}

/** Labelled ticks, and the places of small ones between them. */
export interface Ticks {
  major: Tick[];
  minor: number[];
}

const LEAST = 5e-324;
const MOST = Number.MAX_VALUE;
const SAME = 1e-4; // values this near, relatively, are shown as one
const ROOM = 0.02; // of the axis, beyond the outermost values
const MOST_LABELS = 9;

/** Whether a value can be shown: finite, and positive on a logarithmic axis. */
export function hasPlace(value: number, log: boolean): boolean {
  return Number.isFinite(value) && (!log || value > 0);
}

/** Where a value lies on the axis, from 0 to 1. */
export function place(axis: Axis, value: number): number {
  if (!axis.log) return (value - axis.from) / (axis.to - axis.from);
  const from = Math.log(axis.from); // not of the ratio, which may overflow
  return (Math.log(value) - from) / (Math.log(axis.to) - from);
}

/** A value, or the end of the axis that it lies beyond. */
export function clamped(axis: Axis, value: number): number {
  if (!hasPlace(value, axis.log)) return value > 0 ? axis.to : axis.from;
  return Math.min(Math.max(value, axis.from), axis.to);
}

/** The least range that holds `values`, and of `bands` what does not stretch a logarithmic axis too far. */
export function makeAxis(log: boolean, values: number[], bands: number[] = []): Axis {
  const shown = values.filter((v) => hasPlace(v, log));
  const beside = bands.filter((v) => hasPlace(v, log));
  const lowest = (list: number[], start: number) => list.reduce((a, b) => Math.min(a, b), start);
  const highest = (list: number[], start: number) => list.reduce((a, b) => Math.max(a, b), start);
  const scale = log ? Math.log10 : (v: number) => v;
  let from = scale(shown.length ? lowest(shown, Infinity) : 1);
  let to = scale(shown.length ? highest(shown, -Infinity) : 10);
  const stretch = log ? Math.max(1, (to - from) / 4) : Infinity;
  [from, to] = [
    Math.max(scale(lowest(beside, log ? 10 ** from : from)), from - stretch),
    Math.min(scale(highest(beside, log ? 10 ** to : to)), to + stretch),
  ];
  const around = log ? 0.5 : Math.max(Math.abs(from), Math.abs(to)) / 2 || 1;
  const same = log ? SAME * Math.LOG10E : SAME * Math.max(Math.abs(from), Math.abs(to));
  if (to - from <= same) [from, to] = [from - around, to + around];
  const room = (to - from) * ROOM;
  [from, to] = [from - room, to + room];
  if (!log) return { log, from: Math.max(from, -MOST / 4), to: Math.min(to, MOST / 4) };
  return { log, from: Math.max(10 ** from, LEAST), to: Math.min(10 ** to, MOST) };
}

/** The axes that panel `index` has in all frames of a slider: fixed, so that only the curves move. */
export function fixedAxes(frames: Panel[][], index: number): { x: Axis; y: Axis } {
  const first = frames.find((panels) => panels[index])?.[index];
  const [logX, logY] = [first?.log_x ?? false, first?.log_y ?? false];
  const xs: number[] = [];
  const ys: number[] = [];
  const bands: number[] = [];
  for (const curve of frames.flatMap((panels) => panels[index]?.curves ?? [])) {
    curve.x.forEach((x, i) => {
      const y = curve.y[i]!;
      if (!hasPlace(x, logX) || !hasPlace(y, logY)) return;
      xs.push(x);
      ys.push(y);
      if (curve.style === "bars") {
        xs.push(...barEnds(curve.x, i));
        ys.push(0);
      }
      if (curve.low && curve.high) bands.push(curve.low[i]!, curve.high[i]!);
    });
  }
  return { x: makeAxis(logX, xs), y: makeAxis(logY, ys, bands) };
}

function powersOfTen(axis: Axis, step: number): number[] {
  const out = [];
  const last = Math.log10(axis.to) + 1e-9;
  for (let k = Math.ceil(Math.log10(axis.from) / step - 1e-9) * step; k <= last; k += step) out.push(k);
  return out;
}

/** Multiples of 1, 2 or 5 times a power of ten, at most `most` of them. */
export function evenTicks(from: number, to: number, most: number): number[] {
  for (let k = Math.max(Math.floor(Math.log10(to - from)) - 2, -300); ; ++k) {
    for (const n of [1, 2, 5]) {
      const begin = Math.ceil(from / (n * 10 ** k) - 1e-9);
      const end = Math.floor(to / (n * 10 ** k) + 1e-9);
      if (end - begin >= most) continue;
      // Through text, so that 3 steps of 0.1 are 0.3.
      return Array.from({ length: end - begin + 1 }, (_, i) => Number(`${(begin + i) * n}e${k}`));
    }
  }
}

function digitTicks(axis: Axis, digits: number[]): number[] {
  const out = [];
  for (let k = Math.floor(Math.log10(axis.from)); k <= Math.log10(axis.to); ++k) {
    for (const n of digits) out.push(Number(`${n}e${k}`));
  }
  return out.filter((v) => v >= axis.from && v <= axis.to);
}

/** Labelled ticks at least `gap` pixels apart on an axis of `length` pixels, and the small ones between. */
export function makeTicks(axis: Axis, length: number, gap: number): Ticks {
  const most = Math.max(2, Math.min(MOST_LABELS, Math.floor(length / gap)));
  const plain = (values: number[]) => values.map((value) => ({ value, label: tickLabel(value) }));
  if (!axis.log) return { major: plain(evenTicks(axis.from, axis.to, most)), minor: [] };
  const decades = Math.log10(axis.to) - Math.log10(axis.from);
  for (const step of [1, 2, 3, 5, 10, 20, 50, 100, 200]) {
    const powers = powersOfTen(axis, step);
    if (powers.length < 2) break;
    if (powers.length > most || (length / decades) * step < gap) continue;
    const major = powers.map((k) => ({ value: Number(`1e${k}`), label: tickLabel(Number(`1e${k}`), true) }));
    const divided = step === 1 && length / decades >= 24;
    return { major, minor: divided ? digitTicks(axis, [2, 3, 4, 5, 6, 7, 8, 9]) : [] };
  }
  // Less than two decades.
  for (const digits of [
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 2, 5],
    [1, 3],
  ]) {
    const ticks = digitTicks(axis, digits);
    const near = ticks.some((v, i) => i > 0 && (place(axis, v) - place(axis, ticks[i - 1]!)) * length < gap);
    if (ticks.length >= 3 && ticks.length <= most && !near) return { major: plain(ticks), minor: [] };
  }
  return { major: plain(evenTicks(axis.from, axis.to, most)), minor: [] };
}
