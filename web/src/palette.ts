// Colours and markers of the curves: those of the printed figures (src/report/svg_curves.cpp).
import type { CurveStyle } from "./types";

/** What a chart is drawn with: CSS variables on the page, which follow the theme, or fixed inks in a file. */
export interface Inks {
  curve(color: number): string;
  ink: string;
  grid: string;
  paper: string;
}

export const COLORS = 8;

// Three colours of Okabe and Ito's palette for colour-blind readers and four that are as far from them and from
// each other, whatever the reader's eyes; all have a contrast of 3 and more on white (tests/unit/palette.test.ts).
export const CURVES = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#931D72",
  "#605618",
  "#9C73F4",
  "#681404",
  "#000000",
];

export const pageInks: Inks = {
  curve: (color) => `var(--curve-${color % COLORS})`,
  ink: "var(--ink)",
  grid: "var(--grid)",
  paper: "var(--paper)",
};

export const fileInks: Inks = {
  curve: (color) => CURVES[color % COLORS]!,
  ink: "#262626",
  grid: "#e4e4e4",
  paper: "#ffffff",
};

export const STROKES: Record<CurveStyle, { width: number; dash?: string }> = {
  line: { width: 1.75 },
  dashed: { width: 1.6, dash: "6.5 3.5" },
  dotted: { width: 1.8, dash: "1.8 3.2" },
  points: { width: 1.2 },
  bars: { width: 0.8 },
};

type Corners = [x: number, y: number][];
const square: Corners = [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]; // prettier-ignore
const up: Corners = [[0, -1.2], [1.15, 0.85], [-1.15, 0.85]]; // prettier-ignore
const diamond: Corners = [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]]; // prettier-ignore
const down: Corners = [[0, 1.2], [1.15, -0.85], [-1.15, -0.85]]; // prettier-ignore
const right: Corners = [[1.2, 0], [-0.85, 1.15], [-0.85, -1.15]]; // prettier-ignore
const left: Corners = [[-1.2, 0], [0.85, 1.15], [0.85, -1.15]]; // prettier-ignore

// Seven, so that with eight colours no pair of colour and marker comes twice among 56 numbers. All have an inside,
// so that filled and open ones differ.
const MARKERS = [null, square, up, diamond, down, right, left];

type Context = Pick<CanvasRenderingContext2D, "moveTo" | "lineTo" | "closePath" | "arc">;

/** Draws the marker of a colour around (0, 0); `size` is in square pixels, as d3's symbols have it. */
export function drawMarker(color: number, context: Context, size: number): void {
  const r = Math.sqrt(size / Math.PI);
  const corners = MARKERS[color % MARKERS.length];
  if (!corners) {
    context.moveTo(r, 0);
    context.arc(0, 0, r, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([x, y], i) => {
    if (i === 0) context.moveTo(r * x, r * y);
    else context.lineTo(r * x, r * y);
  });
  context.closePath();
}

/** The marker of a colour around (x, y) as the path of an SVG. */
export function markerPath(color: number, x: number, y: number, r: number): string {
  let path = "";
  const at = (dx: number, dy: number) => `${+(x + dx).toFixed(2)} ${+(y + dy).toFixed(2)}`;
  const context: Context = {
    moveTo: (dx, dy) => void (path += `M${at(dx, dy)}`),
    lineTo: (dx, dy) => void (path += `L${at(dx, dy)}`),
    closePath: () => void (path += "Z"),
    arc: () => void (path += `A${r} ${r} 0 1 1 ${at(-r, 0)}A${r} ${r} 0 1 1 ${at(r, 0)}`),
  };
  drawMarker(color, context, Math.PI * r * r);
  return path;
}
