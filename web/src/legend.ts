// Which line is what.
import { h, svg } from "./dom";
import { markerPath, STROKES, type Inks } from "./palette";
import { markers, type Mark } from "./pieces";
import type { Curve, Panel } from "./types";

export const KEY_WIDTH = 34;
const HEIGHT = 14;

const nameOf = (curve: Curve) => JSON.stringify([curve.label, curve.color, curve.style]);

export interface Entry {
  curve: Curve;
  mark: Mark;
}

/** What a legend of some panels of a figure shows: each pair of label and look once. */
export function legendEntries(panels: Panel[], figure = panels): Entry[] {
  const { inLegend } = markers(figure);
  const entries = new Map<string, Entry>();
  for (const panel of panels) {
    for (const curve of panel.curves) {
      if (curve.label && !entries.has(nameOf(curve)))
        entries.set(nameOf(curve), { curve, mark: inLegend(panel, curve) });
    }
  }
  return [...entries.values()];
}

/** One legend does for all panels where one panel has every entry; else each panel needs its own. */
export function isShared(panels: Panel[]): boolean {
  const all = legendEntries(panels).length;
  return panels.some((panel) => legendEntries([panel]).length === all);
}

/** A short piece of the curve; its left end in the middle of the height is at (x, y). */
export function drawKey({ curve, mark }: Entry, inks: Inks, x: number, y: number): SVGGElement {
  const color = inks.curve(curve.color);
  const { width, dash } = STROKES[curve.style];
  const middle = x + KEY_WIDTH / 2;
  const points = curve.style === "points";
  const bars = curve.style === "bars";
  const filled = bars || (curve.low && !points);
  const bar = `M${middle} ${y - 7}v14M${middle - 3} ${y - 7}h6M${middle - 3} ${y + 7}h6`;
  return svg(
    "g",
    { fill: "none", stroke: color, "stroke-width": width },
    filled &&
      svg("rect", {
        x,
        y: y - 5,
        width: KEY_WIDTH,
        height: 10,
        fill: color,
        "fill-opacity": 0.18,
        stroke: bars ? color : "none",
      }),
    curve.low && points && svg("path", { d: bar }),
    !points && !bars && svg("path", { d: `M${x} ${y}h${KEY_WIDTH}`, "stroke-dasharray": dash }),
    mark !== "none" &&
      svg("path", {
        d: markerPath(curve.color, middle, y, 3.6),
        fill: mark === "solid" ? color : inks.paper,
        "stroke-width": 1.4,
      }),
  );
}

export function legend(panels: Panel[], figure: Panel[], inks: Inks): HTMLElement | null {
  const entries = legendEntries(panels, figure);
  if (entries.length === 0) return null;
  const items = entries.map((entry) => {
    const size = {
      width: KEY_WIDTH,
      height: HEIGHT,
      viewBox: `0 0 ${KEY_WIDTH} ${HEIGHT}`,
      "aria-hidden": "true",
    };
    return h("li", {}, svg("svg", size, drawKey(entry, inks, 0, HEIGHT / 2)), entry.curve.label);
  });
  return h("ul", { class: "legend", "aria-label": "Legend" }, ...items);
}
