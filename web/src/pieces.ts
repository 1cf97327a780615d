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

export type Mark = "none" | "hollow" | "solid";

const FEW = 20; // points of a line that have a marker each, however close they are

const ENOUGH = 4; // points of a colour that show its marker

/**
 * Which lines of a figure carry markers, by the rules of the printed figures (src/report/svg_curves.cpp): open ones on
 * lines that must be told apart or have few points, none where points of the colour, which are filled, show it.
 */
export function markers(figure: Panel[]) {
  const lineColors = (panel: Panel) =>
    new Set(panel.curves.filter((curve) => curve.style === "line").map((curve) => curve.color));
  const several = figure.some((panel) => lineColors(panel).size > 1);
  const pointsOf = (panel: Panel, color: number) =>
    panel.curves.filter((curve) => curve.style === "points" && curve.color === color);
  const marked = (curve: Curve) => curve.style === "line" && (several || curve.x.length <= FEW);
  const shown = (panel: Panel, curve: Curve) => {
    const count = pointsOf(panel, curve.color).reduce((sum, points) => sum + points.x.length, 0);
    return count > 0 && count >= Math.min(ENOUGH, curve.x.length);
  };
  const on = (panel: Panel, curve: Curve) =>
    marked(curve) && !shown(panel, curve) && (curve.label !== "" || lineColors(panel).size > 1);
  /** A line whose points have no entry of their own is shown with theirs. */
  const inLegend = (panel: Panel, curve: Curve): Mark => {
    if (curve.style === "points") return "solid";
    if (on(panel, curve)) return "hollow";
    const unnamed = curve.style === "line" && pointsOf(panel, curve.color).some((points) => !points.label);
    return unnamed ? "solid" : "none";
  };
  return { on, inLegend };
}

const ROOM = 16; // pixels between points that each have a marker, where there are many
const STEP = 70; // pixels along a line between markers, where not all points have one
const MOST = 7; // markers on one such piece
const GOLDEN = 0.381966;

/**
 * Which points of a piece carry a marker: all where they have room, else some, about evenly along it and
 * beginning elsewhere for each colour, so that equal curves show both markers.
 */
export function markerIndices(pixels: { x: number; y: number }[], color: number): number[] {
  const walked = [0];
  for (let i = 1; i < pixels.length; ++i) {
    const [a, b] = [pixels[i - 1]!, pixels[i]!];
    walked.push(walked[i - 1]! + Math.hypot(b.x - a.x, b.y - a.y));
  }
  const roomy = walked.every((w, i) => i === 0 || w - walked[i - 1]! >= ROOM);
  if (roomy || pixels.length <= FEW) return pixels.map((_, i) => i);
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
