import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readReport } from "../../src/data";
import { firstFrame } from "../../src/figure";
import { isShared, legendEntries } from "../../src/legend";
import { verdictCounts } from "../../src/summary";

const sample = readFileSync(new URL("../../sample/data.json", import.meta.url), "utf8");

// A path such as "sections.1.figures.0.id" in the sample gets this value (undefined: is taken away).
function changed(path: string, value: unknown): string {
  const report = JSON.parse(sample);
  const keys = path.split(".");
  const last = keys.pop()!;
  const parent = keys.reduce((at, key) => at[key], report);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return JSON.stringify(report);
}

test("the sample is read, infinite values included", () => {
  const report = readReport(sample)!;
  expect(report.sections.map((s) => s.verdict)).toEqual(["holds", "holds", "fails", "not testable"]);
  expect(report.sections[3]!.figures[0]!.panels[0]!.curves[0]!.y[2]).toBe(Infinity);
  expect(report.sections[2]!.figures[0]!.slider!.values.at(-1)).toBe(Infinity);
  expect(firstFrame(report.sections[2]!.figures[0]!)).toBe(3);
});

test("curves of a grid share lists", () => {
  const shared = JSON.parse(sample).sections[2].grids[0];
  const { details } = readReport(sample)!.sections[2]!.grids[0]!;
  for (const { x } of details!.flat(2).flatMap(({ panels }) => panels.flatMap(({ curves }) => curves)))
    expect(x).toEqual(shared.lists[0]);
});

test("no data is no error", () => expect(readReport("null")).toBeNull());

test("what may be missing may be missing", () => {
  const section = { id: "a", title: "A" };
  const report = { kind: "study", title: "t", version: "1", command: "c", sections: [section] };
  expect(readReport(JSON.stringify(report))!.sections[0]!.figures).toEqual([]);
});

const bars = "sections.2.grids.0.details.0.0.0.panels.0.curves.0";
const curve = "sections.1.figures.0.panels.0.curves.0";
test.each([
  ["kind", "other", 'kind is "other"; it must be one of "reproduce", "study", "heads"'],
  ["title", undefined, "title is missing; it must be a text"],
  ["sections", {}, "sections is {}; it must be a list"],
  ["sections.1.id", "lemma", 'two sections have the id "lemma"'],
  ["sections.1.id", "a b", 'sections[1].id is "a b"; it must be letters, digits, and _ . -'],
  ["sections.0.verdict", "maybe", 'one of "holds", "fails", "not testable"'],
  ["sections.0.tables.0.rows.1", [1], "rows[1] has 1 cells, but there are 3 columns"],
  ["sections.1.figures.0.id", undefined, "sections[1].figures[0].id is missing"],
  ["sections.1.figures.0.panels", [], "at least one panel"],
  ["sections.1.figures.0.panels.0.log_x", 1, "panels[0].log_x is 1; it must be true or false"],
  [`${curve}.y`, [1, 2], "curves[0].y has 2 values, but"],
  [`${curve}.low`, [1], "curves[0].low has 1 values, but"],
  [`${curve}.x.3`, "NaN", 'x[3] is "NaN"; it must be a number, "inf" or "-inf"'],
  [`${curve}.x.3`, null, "x[3] is null"],
  [`${curve}.style`, "wavy", 'style is "wavy"'],
  [`${curve}.color`, -1, "color is -1; it must be a whole number from 0"],
  ["sections.2.grids.0.id", "training", 'two figures have the id "training"'],
  ["sections.2.grids.0.rows", ["0"], "quantities[0].values has 6 items, but the grid has 1 rows"],
  ["sections.2.grids.0.quantities.1.values.2", [1], "values[2] has 1 items, but the grid has 12 columns"],
  ["sections.2.grids.0.quantities", [], "at least one quantity"],
  ["sections.2.grids.0.details.0.0.0.panels", [], "at least one panel"],
  ["sections.2.grids.0.lists", [], "curves[0].x is 0; it must be a list"],
  ["sections.2.grids.0.lists.0", ["NaN"], 'lists[0][0] is "NaN"'],
  [`${bars}.x`, 1, "curves[0].x is 1; it must be a list, or the number of one of 1 lists"],
  [`${bars}.x`, [1, 2], "curves[0].y has 25 values, but"],
  [`${bars}.y`, -1, "curves[0].y is -1"],
  ["sections.2.grids.0.lists.0.3", 7, "curves[0].x must be evenly spaced, for bars"],
  ["sections.2.grids.0.details.0.0.0.panels.0.log_x", true, "curves[0] has bars, which need linear axes"],
  ["sections.2.figures.0.slider.values", [1], "slider has 1 values, but 6 lists of panels"],
])("%s = %j is refused", (path, value, message) => {
  expect(() => readReport(changed(path, value))).toThrow(message);
});

test("text that is not JSON is refused", () => {
  expect(() => readReport("{")).toThrow("the data is not JSON");
});

test("a legend is shared where one panel has all entries", () => {
  const [, output, , edges] = readReport(sample)!.sections;
  expect(isShared(output!.figures[0]!.panels)).toBe(true);
  expect(isShared(edges!.figures[0]!.panels)).toBe(false);
  expect(legendEntries(output!.figures[0]!.panels)).toHaveLength(5);
});

test("verdicts are counted in words", () => {
  expect(verdictCounts(["holds", "holds", "fails", "not testable"])).toBe(
    "2 of 4 claims hold, 1 fails, 1 is not testable.",
  );
  expect(verdictCounts(["holds"])).toBe("1 of 1 claim holds.");
});
