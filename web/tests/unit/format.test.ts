import { expect, test } from "vitest";
import { exactNumber, formatCell, formatNumber, tickLabel, tickParts } from "../../src/format";

test.each([
  [0, "0"],
  [-0, "0"],
  [3.1e-9, "3.1×10⁻⁹"],
  [1e-12, "10⁻¹²"],
  [-1e12, "−10¹²"],
  [-2.5e20, "−2.5×10²⁰"],
  [999999, "999999"],
  [1e6, "10⁶"],
  [1234567, "1234567"], // a length, of which a token less is another
  [4788590, "4788590"],
  [12345000000, "1.2345×10¹⁰"],
  [1234567.5, "1.2346×10⁶"],
  [0.001, "0.001"],
  [0.00099999999, "0.001"],
  [0.1 + 0.2, "0.3"],
  [1 / 3, "0.33333"],
  [-4, "−4"],
  [5e-324, "4.9407×10⁻³²⁴"],
  [Infinity, "∞"],
  [-Infinity, "−∞"],
])("%d is shown as %s", (x, text) => expect(formatNumber(x)).toBe(text));

test("cells: texts stay, nothing is a dash", () => {
  expect(["a", null, 2].map(formatCell)).toEqual(["a", "–", "2"]);
});

test("files have numbers that read back as the same double", () => {
  for (const x of [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -1e21]) expect(Number(exactNumber(x))).toBe(x);
  expect([Infinity, -Infinity].map(exactNumber)).toEqual(["inf", "-inf"]);
});

test.each([
  [1e-3, true, "10^−3"],
  [1, true, "10^0"],
  [2e7, false, "2×10^7"],
  [1e7, false, "10^7"],
  [0.05, false, "0.05"],
  [-0.2, false, "−0.2"],
  [10000, false, "10000"],
  [0, false, "0"],
])("the tick at %d (power: %s) is %s", (x, power, text) => expect(tickLabel(x, power)).toBe(text));

test("the power of a tick label is split off", () => {
  expect(tickParts("2×10^−7")).toEqual(["2×10", "−7"]);
  expect(tickParts("0.5")).toEqual(["0.5", ""]);
});
