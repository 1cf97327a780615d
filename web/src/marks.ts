// The marks of Observable Plot that make up a panel.
import * as Plot from "@observablehq/plot";
import type { Ticks } from "./axis";
import { barEnds } from "./bars";
import { drawMarker, STROKES, type Inks } from "./palette";
import type { Point } from "./pieces";
import type { Curve } from "./types";

export const SMALL = 11; // the font size of tick labels
const MARKER = 3.6; // half the height of a marker

/** The labels of the ticks of an axis, and its own label of some size `offset` pixels from the frame. */
export function axisMarks(
  ticks: Ticks,
  axis: "x" | "y",
  label: string,
  offset: number,
  size: number,
): Plot.Markish[] {
  const text = { text: "label", fontSize: SMALL, className: "tick-label" } as const;
  if (axis === "x") {
    const below = { frameAnchor: "bottom", lineAnchor: "top", dy: 9 } as const;
    return [
      Plot.text(ticks.major, { ...below, ...text, x: "value" }),
      Plot.text([label], { ...below, dy: offset, lineAnchor: "bottom", fontSize: size }),
    ];
  }
  return [
    Plot.text(ticks.major, { ...text, frameAnchor: "left", textAnchor: "end", dx: -9, y: "value" }),
    Plot.text([label], {
      className: "y-label",
      frameAnchor: "left",
      textAnchor: "middle", // else the text begins in the middle of the axis
      lineAnchor: "top",
      dx: -offset,
      rotate: -90,
      fontSize: size,
    }),
  ];
}

/** The curve and its markers. */
export function curveMarks(curve: Curve, lines: Point[][], inks: Inks, markers: Point[]): Plot.Markish[] {
  const color = inks.curve(curve.color);
  const points = lines.flatMap((line, piece) => line.map((point) => ({ ...point, piece })));
  const stroke = STROKES[curve.style];
  const symbol = { draw: (context: CanvasPath, size: number) => drawMarker(curve.color, context, size) };
  const dot = { x: "x", y: "y", r: MARKER, symbol, stroke: color, strokeWidth: 1.4, clip: false } as const;
  if (curve.style === "bars") return []; // they are below the curves
  if (curve.style === "points") {
    return [
      curve.low && Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: color, strokeWidth: 1.2 }),
      curve.low && Plot.dot([...points, ...points], capOptions(points, color)),
      Plot.dot(points, { ...dot, fill: color }),
    ];
  }
  return [
    Plot.line(points, {
      x: "x",
      y: "y",
      z: "piece",
      stroke: color,
      strokeWidth: stroke.width,
      strokeDasharray: stroke.dash,
      strokeLinecap: "butt",
      strokeLinejoin: "round",
    }),
    Plot.dot(markers, { ...dot, fill: inks.paper }),
  ];
}

/** The short bars at both ends of an error bar. */
function capOptions(points: Point[], stroke: string): Plot.DotOptions {
  const bar = { draw: (context: CanvasPath) => (context.moveTo(-3, 0), context.lineTo(3, 0)) };
  const ends = [...points.map((p) => p.low), ...points.map((p) => p.high)];
  return { x: "x", y: ends as number[], symbol: bar, r: 3, stroke, strokeWidth: 1.2 };
}

/** What lies below all curves: the band of a line, or the bars. */
export function areaMark(curve: Curve, lines: Point[][], inks: Inks): Plot.Markish {
  const fill = inks.curve(curve.color);
  if (curve.style === "bars") {
    const bars = lines.flat().map(({ y, index }) => ({ y, ends: barEnds(curve.x, index) }));
    const [x1, x2] = [0, 1].map((end) => (bar: { ends: [number, number] }) => bar.ends[end]!);
    return Plot.rect(bars, {
      x1,
      x2,
      y1: 0,
      y2: "y",
      fill,
      fillOpacity: 0.18,
      stroke: fill,
      strokeWidth: 0.8,
    });
  }
  if (!curve.low || curve.style === "points") return null;
  const points = lines.flatMap((line, piece) => line.map((point) => ({ ...point, piece })));
  return Plot.areaY(points, { x: "x", y1: "low", y2: "high", z: "piece", fill, fillOpacity: 0.18 });
}
