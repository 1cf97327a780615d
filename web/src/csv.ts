// The data of a figure as CSV in long format.
import { exactNumber } from "./format";
import type { Cell, Grid, Panel, Table, View } from "./types";

/** A field as RFC 4180 says: in quotes where it needs them. */
export function csvField(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return exactNumber(value);
  return /[",\r\n]/.test(value) || value !== value.trim() ? `"${value.replaceAll('"', '""')}"` : value;
}

const toCsv = (rows: Cell[][]) => rows.map((row) => row.map(csvField).join(",") + "\n").join("");

/** What a panel is called in files and tables: its title, or its number. */
export const panelName = (panel: Panel, index: number) => panel.title || String(index + 1);

/** The points of all curves, one a row: panel, label, x, y, low, high. */
export function figureRows(panels: Panel[]): Cell[][] {
  return panels.flatMap((panel, p) =>
    panel.curves.flatMap((curve) =>
      curve.x.map((x, i) => {
        const ends = [curve.low?.[i] ?? null, curve.high?.[i] ?? null];
        return [panelName(panel, p), curve.label, x, curve.y[i] ?? null, ...ends];
      }),
    ),
  );
}

export const FIGURE_COLUMNS = ["panel", "label", "x", "y", "low", "high"];

/** The whole figure; with a slider its value is the first column, and all its frames are there. */
export function figureCsv({ panels, slider }: View): string {
  if (!slider) return toCsv([FIGURE_COLUMNS, ...figureRows(panels)]);
  const rows = slider.values.flatMap((value, i) =>
    figureRows(slider.panels[i]!).map((row) => [value, ...row]),
  );
  return toCsv([[slider.label, ...FIGURE_COLUMNS], ...rows]);
}

export const tableCsv = ({ columns, rows }: Table) => toCsv([columns, ...rows]);

/** A row for each cell, with all its quantities. */
export function gridCsv({ row, column, rows, columns, quantities }: Grid): string {
  const body = rows.flatMap((r, i) =>
    columns.map((c, j): Cell[] => [r, c, ...quantities.map(({ values }) => values[i]![j]!)]),
  );
  return toCsv([[row, column, ...quantities.map(({ label }) => label)], ...body]);
}
