// One panel as an SVG, drawn by Observable Plot.
import * as Plot from "@observablehq/plot";
import { fixedAxes, makeTicks, place, type Ticks } from "./axis";
import { barEnds } from "./bars";
import { svg } from "./dom";
import { formatNumber, tickParts } from "./format";
import { areaMark, axisMarks, curveMarks, SMALL } from "./marks";
import type { Inks } from "./palette";
import { markerIndices, markers, pieces, type Axes, type Point } from "./pieces";
import type { Curve, Panel } from "./types";

export const FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif";
export const FONT_SIZE = 12.5;

export interface ChartOptions {
  width: number;
  height: number;
  axes: Axes;
  inks: Inks;
  /** All panels of the figure: whether lines must be told apart is seen from them. */
  figure: Panel[];
  /** Shows the values of the nearest point under the pointer. */
  hover: boolean;
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Pixel {
  x: number;
  y: number;
}

let canvas: CanvasRenderingContext2D | null = null;

function textWidth(text: string, size: number): number {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (!canvas) return text.length * size * 0.6;
  canvas.font = `${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

function labelWidth(label: string): number {
  const [base, power] = tickParts(label);
  return textWidth(base, SMALL) + textWidth(power, SMALL * 0.75);
}

/** A label that is longer than its axis is set smaller, down to 60 %. */
const sizeFor = (label: string, room: number) =>
  FONT_SIZE * Math.min(1, Math.max(0.6, room / textWidth(label, FONT_SIZE)));

/** What is shown beside the nearest point. */
export function pointText(panel: Panel, curve: Curve, i: number): string {
  const lines = curve.label ? [curve.label] : [];
  const ends = curve.style === "bars" ? barEnds(curve.x, i).map((x) => formatNumber(x)) : null;
  lines.push(`${panel.x_label || "x"}: ${ends ? `${ends[0]} to ${ends[1]}` : formatNumber(curve.x[i]!)}`);
  lines.push(`${panel.y_label || "y"}: ${formatNumber(curve.y[i]!)}`);
  if (curve.low && curve.high) {
    lines.push(`from ${formatNumber(curve.low[i]!, 4)} to ${formatNumber(curve.high[i]!, 4)}`);
  }
  return lines.join("\n");
}

/** Raises the exponents of tick labels such as 10^-3. */
function raisePowers(chart: Element): void {
  for (const text of chart.querySelectorAll(".tick-label text")) {
    const [base, power] = tickParts(text.textContent ?? "");
    if (power) text.replaceChildren(base, svg("tspan", { dy: "-0.45em", "font-size": "75%" }, power));
  }
}

/** The axes of a panel that does not move. */
export const ownAxes = (panel: Panel): Axes => fixedAxes([[panel]], 0);

export function drawPanel(
  panel: Panel,
  { width, height, axes, inks, figure, hover }: ChartOptions,
): SVGSVGElement {
  const margin = { top: 10, right: 12, bottom: panel.x_label ? 42 : 28 };
  const y = makeTicks(axes.y, height - margin.top - margin.bottom, 24);
  const widest = Math.max(0, ...y.major.map((tick) => labelWidth(tick.label)));
  const left = Math.ceil(widest) + 12 + (panel.y_label ? 22 : 0);
  const frame: Box = { left, top: margin.top, right: width - margin.right, bottom: height - margin.bottom };
  const [plotWidth, plotHeight] = [frame.right - frame.left, frame.bottom - frame.top];
  const x = makeTicks(axes.x, plotWidth, axes.x.log ? 40 : 46);
  const pixel = (p: { x: number; y: number }) => ({
    x: frame.left + place(axes.x, p.x) * plotWidth,
    y: frame.bottom - place(axes.y, p.y) * plotHeight,
  });

  const drawn = panel.curves.map((curve) => ({ curve, lines: pieces(curve, axes) }));
  const { on } = markers(figure);
  const marked = (curve: Curve, line: Point[]) =>
    on(panel, curve) || (line.length === 1 && curve.style !== "bars")
      ? markerIndices(line.map(pixel), curve.color).map((i) => line[i]!)
      : [];
  const near = drawn.flatMap(({ curve, lines }) =>
    lines.flat().map((p) => ({ x: p.x, y: p.y, text: pointText(panel, curve, p.index), color: curve.color })),
  );
  const pointed = { x: "x", y: "y", maxRadius: 80 } as const;

  const chart = Plot.plot({
    width,
    height,
    marginTop: margin.top,
    marginRight: margin.right,
    marginBottom: margin.bottom,
    marginLeft: left,
    style: {
      fontFamily: FONT,
      fontSize: `${FONT_SIZE}px`,
      color: inks.ink,
      background: "none",
      overflow: "visible",
    },
    x: { type: axes.x.log ? "log" : "linear", domain: [axes.x.from, axes.x.to], axis: null },
    y: { type: axes.y.log ? "log" : "linear", domain: [axes.y.from, axes.y.to], axis: null },
    marks: [
      Plot.ruleX(x.major, { x: "value", stroke: inks.grid }),
      Plot.ruleY(y.major, { y: "value", stroke: inks.grid }),
      drawn.map(({ curve, lines }) => areaMark(curve, lines, inks)),
      axisMarks(x, "x", panel.x_label, margin.bottom - 5, sizeFor(panel.x_label, plotWidth)),
      axisMarks(y, "y", panel.y_label, left - 1, sizeFor(panel.y_label, plotHeight)),
      drawn.map(({ curve, lines }) =>
        curveMarks(
          curve,
          lines,
          inks,
          lines.flatMap((line) => marked(curve, line)),
        ),
      ),
      hover ? Plot.dot(near, Plot.pointer({ ...pointed, r: 7, stroke: inks.ink, strokeWidth: 1.5 })) : null,
      hover
        ? Plot.tip(
            near,
            Plot.pointer({
              ...pointed,
              title: "text",
              fill: inks.paper,
              stroke: inks.ink,
              strokeOpacity: 0.4,
              fontSize: FONT_SIZE,
              lineHeight: 1.35,
              lineWidth: 32,
              className: "tip",
            }),
          )
        : null,
    ].flat(3) as Plot.Markish[],
  }) as SVGSVGElement;

  raisePowers(chart);
  // Plot names the kinds of marks for screen readers, which hear of the panel as a whole.
  for (const mark of chart.querySelectorAll("[aria-label]")) {
    mark.setAttribute("data-mark", mark.getAttribute("aria-label")!);
    mark.removeAttribute("aria-label");
  }
  chart.append(drawAxes(x, y, frame, pixel, axes, inks));
  return chart;
}

/** The lines of both axes and their ticks. */
function drawAxes(x: Ticks, y: Ticks, frame: Box, pixel: (value: Pixel) => Pixel, axes: Axes, inks: Inks) {
  const { left, top, right, bottom } = frame;
  const along = (value: number) => pixel({ x: value, y: axes.y.to }).x.toFixed(1);
  const up = (value: number) => pixel({ x: axes.x.to, y: value }).y.toFixed(1);
  const lines = [
    `M${left} ${top}V${bottom}H${right}`,
    ...x.major.map((tick) => `M${along(tick.value)} ${bottom}v5`),
    ...x.minor.map((value) => `M${along(value)} ${bottom}v3`),
    ...y.major.map((tick) => `M${left} ${up(tick.value)}h-5`),
    ...y.minor.map((value) => `M${left} ${up(value)}h-3`),
  ];
  return svg("path", { fill: "none", stroke: inks.ink, d: lines.join("") });
}
