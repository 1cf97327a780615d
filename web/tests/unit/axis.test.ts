import { expect, test } from "vitest";
import { clamped, evenTicks, fixedAxes, makeAxis, makeTicks, place } from "../../src/axis";
import type { Panel } from "../../src/types";

const labels = (log: boolean, values: number[], length = 400, gap = 40) =>
  makeTicks(makeAxis(log, values), length, gap).major.map((tick) => tick.label);

test("a logarithmic axis has powers of ten, fewer where there is no room", () => {
  expect(labels(true, [10, 1e5])).toEqual(["10^1", "10^2", "10^3", "10^4", "10^5"]);
  expect(labels(true, [10, 1e5], 130)).toEqual(["10^2", "10^4"]);
  expect(labels(true, [1, 1e300]).at(-1)).toBe("10^300");
});

test("less than two decades have plain numbers", () => {
  expect(labels(true, [0.5, 2], 120)).toEqual(["0.5", "1", "2"]);
  expect(labels(true, [1.01, 1.05]).length).toBeGreaterThan(2);
  expect(labels(true, [3, 3]).length).toBeGreaterThan(1);
});

test("small ticks only between powers that are far enough apart", () => {
  expect(makeTicks(makeAxis(true, [1, 100]), 400, 40).minor).toContain(50);
  expect(makeTicks(makeAxis(true, [1, 1e300]), 400, 40).minor).toEqual([]);
});

test("even ticks are exact decimals", () => {
  expect(evenTicks(0, 0.5, 6)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  expect(evenTicks(-1, 1, 5)).toEqual([-1, -0.5, 0, 0.5, 1]);
  expect(evenTicks(0, 1e-310, 5).length).toBeLessThan(6);
});

test("axes hold all values, also of one value, of none and of the largest doubles", () => {
  for (const log of [true, false]) {
    for (const values of [[1, 7], [4], [], [5e-324, 4e307], [Infinity, -Infinity, 2]]) {
      const axis = makeAxis(log, values);
      expect(axis.to).toBeGreaterThan(axis.from);
      for (const v of values.filter(Number.isFinite)) {
        expect(place(axis, v)).toBeGreaterThanOrEqual(-1e-9);
        expect(place(axis, v)).toBeLessThanOrEqual(1 + 1e-9);
      }
      expect(makeTicks(axis, 300, 40).major.length).toBeGreaterThan(0);
    }
  }
});

test("bands stretch a logarithmic axis by a quarter of it or a decade, and what is beyond is cut", () => {
  const axis = makeAxis(true, [1, 100], [1e-9, 1000]);
  expect(axis.from).toBeGreaterThan(0.05);
  expect(axis.from).toBeLessThan(0.1);
  expect(axis.to).toBeGreaterThan(1000);
  expect([-1, 0, 1e-9, Infinity, 5].map((v) => clamped(axis, v))).toEqual([
    axis.from,
    axis.from,
    axis.from,
    axis.to,
    5,
  ]);
});

test("axes are fixed over all frames, and do not see points without a place", () => {
  const panel = (x: number[], y: number[]): Panel => {
    const curve = { label: "", x, y, style: "line", color: 0 } as const;
    return { title: "", x_label: "", y_label: "", log_x: false, log_y: true, curves: [curve] };
  };
  const { x, y } = fixedAxes([[panel([0, 1], [1, 10])], [panel([0, 2, 99], [1, 1000, -5])]], 0);
  expect(x.to).toBeGreaterThan(2);
  expect(x.to).toBeLessThan(3);
  expect(y.to).toBeGreaterThan(1000);
});
