import { expect, test } from "vitest";
import { csvField, figureCsv, gridCsv, tableCsv } from "../../src/csv";
import type { Figure, Panel } from "../../src/types";

const panel = (title: string, y: number[], band = false): Panel => ({
  title,
  x_label: "",
  y_label: "",
  log_x: true,
  log_y: true,
  curves: [
    { label: 'a, "b"', x: y.map((_, i) => i), y, style: "line", color: 0, ...(band && { low: y, high: y }) },
  ],
});

test("fields are quoted where they must be", () => {
  expect(["a", "a,b", 'a"b', "a\nb", " a", "σ", null, -Infinity].map(csvField)).toEqual([
    "a",
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    '" a"',
    "σ",
    "",
    "-inf",
  ]);
});

test("a figure in long format, panels without a title by number", () => {
  const figure: Figure = { id: "f", caption: "", panels: [panel("p", [0.1], true), panel("", [Infinity])] };
  expect(figureCsv(figure)).toBe(
    'panel,label,x,y,low,high\np,"a, ""b""",0,0.1,0.1,0.1\n2,"a, ""b""",0,inf,,\n',
  );
});

test("a figure with a slider has all frames, its value first", () => {
  const slider = { label: "L", values: [10, Infinity], panels: [[panel("p", [1])], [panel("p", [2])]] };
  const lines = figureCsv({ caption: "", panels: [panel("p", [1])], slider }).split("\n");
  expect(lines).toEqual([
    "L,panel,label,x,y,low,high",
    '10,p,"a, ""b""",0,1,,',
    'inf,p,"a, ""b""",0,2,,',
    "",
  ]);
});

test("a table", () => {
  expect(tableCsv({ title: "", columns: ["L", "risk"], rows: [[Infinity, null]] })).toBe("L,risk\ninf,\n");
});

test("a grid has a row for each cell", () => {
  const quantities = [{ label: "weight", log: true, values: [[0.5, null], [2, "x"]] }]; // prettier-ignore
  const grid = { id: "g", caption: "", row: "layer", column: "head", rows: ["0", "1"], columns: ["a", "b"] };
  expect(gridCsv({ ...grid, quantities })).toBe("layer,head,weight\n0,a,0.5\n0,b,\n1,a,2\n1,b,x\n");
});
