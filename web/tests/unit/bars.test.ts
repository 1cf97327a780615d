import { expect, test } from "vitest";
import { fixedAxes } from "../../src/axis";
import { barEnds, barWidth } from "../../src/bars";
import { pointText } from "../../src/chart";
import { legendEntries } from "../../src/legend";
import type { Curve, Panel } from "../../src/types";

const curve: Curve = { label: "head", x: [-1, 0, 1], y: [0.25, 0.5, 0.25], style: "bars", color: 0 };
const panel: Panel = { title: "", x_label: "z", y_label: "", log_x: false, log_y: false, curves: [curve] };

test("bars touch", () => {
  expect(barWidth(curve.x)).toBe(1);
  expect(curve.x.map((_, i) => barEnds(curve.x, i))).toEqual([
    [-1.5, -0.5],
    [-0.5, 0.5],
    [0.5, 1.5],
  ]);
  expect(barEnds([7], 0)).toEqual([6.5, 7.5]);
});

test("a panel holds its bars as a whole, and zero", () => {
  const { x, y } = fixedAxes([[panel]], 0);
  expect(x.from).toBeLessThanOrEqual(-1.5);
  expect(x.to).toBeGreaterThanOrEqual(1.5);
  expect(y.from).toBeLessThanOrEqual(0);
  expect(y.to).toBeGreaterThanOrEqual(0.5);
});

test("a bar says where it ends, and has no marker in the legend", () => {
  expect(pointText(panel, curve, 0)).toBe("head\nz: −1.5 to −0.5\ny: 0.25");
  expect(legendEntries([panel]).map(({ mark }) => mark)).toEqual(["none"]);
});
