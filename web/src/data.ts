// Reads the JSON of a report and checks it against the contract, so that a mistake in the data is one clear
// line on the page and not half a page.
import { barWidth } from "./bars";
import { cell, choice, DataError, fail, flag, list, number, object, optional, text } from "./read";
import type { Cell, Curve, CurveStyle, Fact, Figure, Grid, Num, NumberRow, Panel, Quantity } from "./types";
import type { Report, Run, Section, Slider, Table, Verdict, View } from "./types";

function color(value: unknown, path: string): number {
  if (!Number.isInteger(value) || (value as number) < 0) fail(path, "a whole number from 0", value);
  return value as number;
}

const style = choice<CurveStyle>(["line", "dashed", "dotted", "points", "bars"]);
const verdict = choice<Verdict>(["holds", "fails", "not testable"]);

/** Lists of numbers that curves of a grid have in common; such a curve has the number of the list. */
type Lists = Num[][];

const numbers = (value: unknown, path: string) => list(value, path, number);

/** A list, or one of `lists` by its number. */
function sharedNumbers(lists: Lists) {
  return (value: unknown, path: string): Num[] => {
    if (typeof value !== "number" || !lists.length) return numbers(value, path);
    return lists[value] ?? fail(path, `a list, or the number of one of ${lists.length} lists`, value);
  };
}

/** Throws unless bars touch and stand on zero, as the printed figures have it. */
function checkBars({ x, low }: Curve, { log_x, log_y }: Pick<Panel, "log_x" | "log_y">, path: string): void {
  if (log_x || log_y) throw new DataError(`${path} has bars, which need linear axes`);
  if (low) throw new DataError(`${path} has bars, which have no low and high`);
  const width = barWidth(x);
  const even = (v: number, i: number) => i === 0 || Math.abs(v - x[i - 1]! - width) <= 1e-6 * width;
  if (!(width > 0 && x.every(even))) throw new DataError(`${path}.x must be evenly spaced, for bars`);
}

function curve(value: unknown, path: string, lists: Lists): Curve {
  const from = object(value, path);
  const numbers = sharedNumbers(lists);
  const x = numbers(from.x, `${path}.x`);
  const out: Curve = {
    label: optional(from, "label", path, text) ?? "",
    x,
    y: numbers(from.y, `${path}.y`),
    style: optional(from, "style", path, style) ?? "line",
    color: optional(from, "color", path, color) ?? 0,
  };
  const low = optional(from, "low", path, numbers);
  const high = optional(from, "high", path, numbers);
  // An empty list is how a writer without optional members says "no band".
  if (low?.length || high?.length) {
    out.low = low ?? [];
    out.high = high ?? [];
  }
  for (const key of ["y", "low", "high"] as const) {
    const size = out[key]?.length;
    if (size !== undefined && size !== x.length) {
      throw new DataError(`${path}.${key} has ${size} values, but ${path}.x has ${x.length}`);
    }
  }
  return out;
}

function panel(value: unknown, path: string, lists: Lists = []): Panel {
  const from = object(value, path);
  const out = {
    title: optional(from, "title", path, text) ?? "",
    x_label: optional(from, "x_label", path, text) ?? "",
    y_label: optional(from, "y_label", path, text) ?? "",
    log_x: flag(from.log_x, `${path}.log_x`),
    log_y: flag(from.log_y, `${path}.log_y`),
    curves: list(from.curves, `${path}.curves`, (v, p) => curve(v, p, lists)),
  };
  out.curves.forEach((one, i) => {
    if (one.style === "bars") checkBars(one, out, `${path}.curves[${i}]`);
  });
  return out;
}

const panels = (value: unknown, path: string, lists: Lists = []) =>
  list(value, path, (v, p) => panel(v, p, lists));

function slider(value: unknown, path: string): Slider {
  const from = object(value, path);
  const out = {
    label: text(from.label, `${path}.label`),
    values: list(from.values, `${path}.values`, (v, p) => cell(v, p) ?? fail(p, "a number or a text", v)),
    panels: list(from.panels, `${path}.panels`, (v, p) => panels(v, p)),
  };
  if (out.values.length === 0) fail(`${path}.values`, "a list with at least one value", from.values);
  if (out.panels.length !== out.values.length) {
    throw new DataError(`${path} has ${out.values.length} values, but ${out.panels.length} lists of panels`);
  }
  return out;
}

function view(value: unknown, path: string, lists: Lists = []): View {
  const from = object(value, path);
  const out: View = {
    caption: optional(from, "caption", path, text) ?? "",
    panels: panels(from.panels, `${path}.panels`, lists),
  };
  if (out.panels.length === 0) fail(`${path}.panels`, "a list with at least one panel", from.panels);
  const moving = optional(from, "slider", path, slider);
  const x = optional(from, "x", path, text);
  return { ...out, ...(moving && { slider: moving }), ...(x !== undefined && { x }) };
}

function figure(value: unknown, path: string): Figure {
  const from = object(value, path);
  const out: Figure = { id: text(from.id, `${path}.id`), ...view(value, path) };
  const views = optional(from, "views", path, (v, p) => list(v, p, (one, at) => view(one, at)));
  if (!views?.length) return out;
  unique(
    [out, ...views].map((v, i) => v.x ?? fail(`${path}${i ? `.views[${i - 1}]` : ""}.x`, "a text", v.x)),
    "views of a figure",
    "x axis",
  );
  return { ...out, views };
}

function table(value: unknown, path: string): Table {
  const from = object(value, path);
  const columns = list(from.columns, `${path}.columns`, text);
  const rows = list(from.rows, `${path}.rows`, (row, p) => list(row, p, cell));
  rows.forEach((row, i) => {
    if (row.length === columns.length) return;
    throw new DataError(
      `${path}.rows[${i}] has ${row.length} cells, but there are ${columns.length} columns`,
    );
  });
  return { title: optional(from, "title", path, text) ?? "", columns, rows };
}

/** `value` as one item for each cell of a grid. */
function cells<T>(
  value: unknown,
  path: string,
  { rows, columns }: Pick<Grid, "rows" | "columns">,
  read: (value: unknown, path: string) => T,
): T[][] {
  const sized = <U>(items: U[], size: number, at: string, what: string) => {
    if (items.length === size) return items;
    throw new DataError(`${at} has ${items.length} items, but the grid has ${size} ${what}`);
  };
  const row = (v: unknown, p: string) => sized(list(v, p, read), columns.length, p, "columns");
  return sized(list(value, path, row), rows.length, path, "rows");
}

function grid(value: unknown, path: string): Grid {
  const from = object(value, path);
  const member = (key: string) => text(from[key], `${path}.${key}`);
  const labels = (key: string) => list(from[key], `${path}.${key}`, text);
  const size = { rows: labels("rows"), columns: labels("columns") };
  const quantity = (v: unknown, p: string): Quantity => {
    const one = object(v, p);
    return {
      label: text(one.label, `${p}.label`),
      log: flag(one.log, `${p}.log`),
      values: cells<Cell>(one.values, `${p}.values`, size, cell),
    };
  };
  const out: Grid = {
    id: member("id"),
    caption: optional(from, "caption", path, text) ?? "",
    row: member("row"),
    column: member("column"),
    ...size,
    quantities: list(from.quantities, `${path}.quantities`, quantity),
  };
  if (!out.quantities.length)
    fail(`${path}.quantities`, "a list with at least one quantity", from.quantities);
  const lists = optional(from, "lists", path, (v, p) => list(v, p, numbers)) ?? [];
  const details = optional(from, "details", path, (v, p) =>
    cells(v, p, size, (views, at) => list(views, at, (one, place) => view(one, place, lists))),
  );
  return details ? { ...out, details } : out;
}

function numberRow(value: unknown, path: string): NumberRow {
  const from = object(value, path);
  const out = { label: text(from.label, `${path}.label`), value: cell(from.value ?? null, `${path}.value`) };
  const limit = optional(from, "limit", path, cell);
  return limit === undefined ? out : { ...out, limit };
}

function section(value: unknown, path: string): Section {
  const from = object(value, path);
  const id = text(from.id, `${path}.id`);
  if (!/^[A-Za-z0-9_.-]+$/.test(id)) fail(`${path}.id`, "letters, digits, and _ . -", id);
  const maybe = (key: string) => optional(from, key, path, text);
  return {
    id,
    title: text(from.title, `${path}.title`),
    source: maybe("source"),
    statement: maybe("statement") ?? "",
    formula: maybe("formula"),
    computed: maybe("computed") ?? "",
    control: maybe("control"),
    verdict: optional(from, "verdict", path, verdict),
    reason: maybe("reason"),
    numbers: optional(from, "numbers", path, (v, p) => list(v, p, numberRow)) ?? [],
    tables: optional(from, "tables", path, (v, p) => list(v, p, table)) ?? [],
    figures: optional(from, "figures", path, (v, p) => list(v, p, figure)) ?? [],
    grids: optional(from, "grids", path, (v, p) => list(v, p, grid)) ?? [],
    command: maybe("command"),
  };
}

function unique(ids: string[], what: string, name = "id"): void {
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new DataError(`two ${what} have the ${name} "${twice}"`);
}

function fact(value: unknown, path: string): Fact {
  const from = object(value, path);
  return { label: text(from.label, `${path}.label`), value: text(from.value, `${path}.value`) };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new DataError(`the data is not JSON: ${(error as Error).message}`);
  }
}

/** What made the report; null where the page does not say. */
export function readRun(json: string): Run | null {
  const parsed = parse(json);
  if (parsed === null) return null;
  const from = object(parsed, "run");
  const texts = ["date", "version", "commit", "compiler", "machine", "simd", "device"] as const;
  const run: Run = {};
  for (const key of texts) run[key] = optional(from, key, "run", text);
  for (const key of ["threads", "processes"] as const) run[key] = optional(from, key, "run", number);
  run.modified = optional(from, "modified", "run", flag);
  return run;
}

/** The report in `json`; null where the page has no data. DataError names the first member that is wrong. */
export function readReport(json: string): Report | null {
  const parsed = parse(json);
  if (parsed === null) return null;
  const from = object(parsed, "");
  const seed = optional(from, "seed", "", number);
  const report: Report = {
    kind: choice<Report["kind"]>(["reproduce", "study", "heads"])(from.kind, "kind"),
    title: text(from.title, "title"),
    intro: optional(from, "intro", "", text) ?? "",
    version: text(from.version, "version"),
    command: text(from.command, "command"),
    sections: list(from.sections, "sections", section),
    about: optional(from, "about", "", (v, p) => list(v, p, fact)) ?? [],
  };
  unique(
    report.sections.map((s) => s.id),
    "sections",
  );
  unique(
    report.sections.flatMap((s) => [...s.figures, ...s.grids].map((f) => f.id)),
    "figures",
  );
  return seed === undefined ? report : { ...report, seed };
}
