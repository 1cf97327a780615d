import { expect, test } from "vitest";
import { makeAxis } from "../../src/axis";
import { legendEntries } from "../../src/legend";
import { markerIndices, markers, pieces } from "../../src/pieces";
import type { Curve, Panel } from "../../src/types";

const curve = (y: number[], more: Partial<Curve> = {}): Curve => ({
  label: "",
  x: y.map((_, i) => i),
  y,
  style: "line",
  color: 0,
  ...more,
});
const indices = (c: Curve, logX: boolean, logY: boolean) => {
  const axes = { x: makeAxis(logX, [1, 10]), y: makeAxis(logY, [1, 10]) };
  return pieces(c, axes).map((piece) => piece.map((point) => point.index));
};

test("a curve is broken where a value has no place", () => {
  const y = [1, 2, Infinity, 4, 0, 3, -1, 2];
  expect(indices(curve(y), false, true)).toEqual([[0, 1], [3], [5], [7]]);
  expect(indices(curve(y), false, false)).toEqual([
    [0, 1],
    [3, 4, 5, 6, 7],
  ]);
  expect(indices(curve(y), true, false)).toEqual([[1], [3, 4, 5, 6, 7]]);
  expect(indices(curve([-Infinity]), false, false)).toEqual([]);
  expect(indices(curve([]), false, false)).toEqual([]);
});

test("a band ends at the edge of the panel", () => {
  const axes = { x: makeAxis(false, [0, 1]), y: makeAxis(true, [1, 10]) };
  const [piece] = pieces(curve([1, 10], { low: [0, 9], high: [2, Infinity] }), axes);
  expect(piece!.map(({ low, high }) => [low, high])).toEqual([
    [axes.y.from, 2],
    [9, axes.y.to],
  ]);
});

test("markers stand apart, at most about seven on a piece, elsewhere for each colour", () => {
  const line = Array.from({ length: 201 }, (_, i) => ({ x: i * 3, y: 100 }));
  const [first, second] = [markerIndices(line, 0), markerIndices(line, 1)];
  expect(first.length).toBeGreaterThan(4);
  expect(first.length).toBeLessThan(9);
  first.slice(1).forEach((at, i) => expect((at - first[i]!) * 3).toBeGreaterThan(60));
  expect(second).not.toEqual(first);
  expect(markerIndices([{ x: 5, y: 5 }], 3)).toEqual([0]);
});

test("few points have a marker each, and so have many that are apart", () => {
  const line = (n: number, step: number) => Array.from({ length: n }, (_, i) => ({ x: i * step, y: 100 }));
  expect(markerIndices(line(5, 60), 2)).toEqual([0, 1, 2, 3, 4]);
  expect(markerIndices(line(20, 2), 2)).toHaveLength(20);
  expect(markerIndices(line(30, 20), 2)).toHaveLength(30);
});

const panel = (...curves: Curve[]): Panel => ({
  title: "",
  x_label: "",
  y_label: "",
  log_x: false,
  log_y: false,
  curves,
});

test("open markers are on lines, filled ones are points, and the legend shows what is drawn", () => {
  const dense = (color: number, more: Partial<Curve> = {}) =>
    curve(Array<number>(50).fill(1), { label: `line ${color}`, color, ...more });
  const points = (color: number, label = "", count = 4) =>
    curve(Array<number>(count).fill(2), { style: "points", color, label });
  const seen = (...curves: Curve[]) => {
    const { on, inLegend } = markers([panel(...curves)]);
    const whole = panel(...curves);
    return curves.map((c) => [on(whole, c), inLegend(whole, c)]);
  };
  // A dense line alone needs none; a sparse one says where it was computed; dashed ones never have any.
  expect(seen(dense(0), dense(1, { style: "dashed" }))).toEqual([
    [false, "none"],
    [false, "none"],
  ]);
  expect(seen(curve([1, 2, 3], { label: "sparse" }))).toEqual([[true, "hollow"]]);
  expect(seen(dense(0), dense(1))).toEqual([
    [true, "hollow"],
    [true, "hollow"],
  ]);
  // Points of the colour show its marker: in their own entry, or in that of the line where they have none.
  expect(seen(dense(0), dense(1), points(0))[0]).toEqual([false, "solid"]);
  expect(seen(dense(0), dense(1), points(0, "sampled"))[0]).toEqual([false, "none"]);
  expect(seen(dense(0), dense(1), points(0, "sampled", 1))[0]).toEqual([true, "hollow"]); // one is not enough
  const entries = legendEntries([panel(dense(0), dense(1), points(0, "sampled"))]);
  expect(entries.map(({ mark }) => mark)).toEqual(["none", "hollow", "solid"]);
});
