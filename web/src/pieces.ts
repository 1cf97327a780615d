// Curves as what can be drawn of them.
import { clamped, hasPlace, type Axis } from "./axis";
import type { Curve, Panel } from "./types";

export interface Axes {
  x: Axis;
  y: Axis;
}

export interface Point {
  x: number;
  y: number;
  /** The values as they are in the data; `low` and `high` above are cut at the ends of the axis. */
  index: number;
  low?: number;
  high?: number;
}

/** The pieces of a curve between values without a place (see hasPlace). */
export function pieces(curve: Curve, axes: Axes): Point[][] {
  const out: Point[][] = [];
  let broken = true;
  curve.x.forEach((x, index) => {
    const y = curve.y[index]!;
    const shown = hasPlace(x, axes.x.log) && hasPlace(y, axes.y.log);
    if (shown) {
      const point: Point = { x, y, index };
      if (curve.low && curve.high) {
        point.low = clamped(axes.y, curve.low[index]!);
        point.high = clamped(axes.y, curve.high[index]!);
      }
      if (broken) out.push([]);
      out.at(-1)!.push(point);
    }
    broken = !shown;
  });
  return out;
}

/** Lines carry markers where there are several to tell apart. */
export const linesAreMarked = (panel: Panel) =>
  panel.curves.filter((curve) => curve.style !== "points").length > 1;

const STEP = 70; // pixels along a line between markers
const MOST = 7; // markers on one piece
const GOLDEN = 0.381966;

/**
 * Which points of a piece carry a marker: about evenly along it, beginning elsewhere for each colour so that
 * equal curves show both markers.
 */
export function markerIndices(pixels: { x: number; y: number }[], color: number): number[] {
  const walked = [0];
  for (let i = 1; i < pixels.length; ++i) {
    const [a, b] = [pixels[i - 1]!, pixels[i]!];
    walked.push(walked[i - 1]! + Math.hypot(b.x - a.x, b.y - a.y));
  }
  const length = walked.at(-1)!;
  const every = Math.max(STEP, length / MOST);
  let next = every * (0.25 + ((GOLDEN * color) % 1));
  if (length < next + every / 4) next = length / 2;
  const out: number[] = [];
  for (let i = 0; next <= length; next += every) {
    while (i + 1 < walked.length && Math.abs(walked[i + 1]! - next) <= Math.abs(walked[i]! - next)) ++i;
    if (out.at(-1) !== i) out.push(i);
    if (every === 0) break;
  }
  return out;
}
