// The data of a report, as docs/report.md says.

/** A number of the data; "inf" and "-inf" of the JSON have become ±Infinity. */
export type Num = number;

export type CurveStyle = "line" | "dashed" | "dotted" | "points" | "bars";

export interface Curve {
  label: string;
  x: Num[];
  y: Num[];
  /** Both or neither: a band around the curve, or the error bars of points. */
  low?: Num[];
  high?: Num[];
  style: CurveStyle;
  color: number;
}

export interface Panel {
  title: string;
  x_label: string;
  y_label: string;
  log_x: boolean;
  log_y: boolean;
  curves: Curve[];
}

export interface Slider {
  label: string;
  values: (Num | string)[];
  /** panels[i] is shown when the slider is at values[i]. */
  panels: Panel[][];
}

/** What a figure shows at a time. */
export interface View {
  caption: string;
  panels: Panel[];
  slider?: Slider;
  /** What stands on the x axis, where that can be chosen. */
  x?: string;
}

export interface Figure extends View {
  id: string;
  /** The same with something else on the x axis. */
  views?: View[];
}

export type Cell = Num | string | null;

export interface Table {
  title: string;
  columns: string[];
  rows: Cell[][];
}

/** What the cells of a grid are coloured by: numbers on a scale, or texts. */
export interface Quantity {
  label: string;
  /** The scale of the colours is logarithmic. */
  log: boolean;
  /** values[i][j] is that of row i, column j. */
  values: Cell[][];
}

/** Cells in rows and columns, coloured by one of their quantities. */
export interface Grid {
  id: string;
  caption: string;
  /** What a row is, and a column: "layer", "head". */
  row: string;
  column: string;
  rows: string[];
  columns: string[];
  quantities: Quantity[];
  /** details[i][j] are shown when the cell is chosen. */
  details?: View[][][];
}

export type Verdict = "holds" | "fails" | "not testable";

export interface NumberRow {
  label: string;
  value: Cell;
  limit?: Cell;
}

export interface Section {
  id: string;
  title: string;
  source?: string;
  statement: string;
  formula?: string;
  computed: string;
  control?: string;
  verdict?: Verdict;
  reason?: string;
  numbers: NumberRow[];
  tables: Table[];
  figures: Figure[];
  grids: Grid[];
  command?: string;
}

export interface Fact {
  label: string;
  value: string;
}

/** What made the report; its numbers depend on none of it. All may be missing. */
export interface Run {
  date?: string;
  version?: string;
  commit?: string;
  modified?: boolean;
  compiler?: string;
  machine?: string;
  simd?: string;
  threads?: number;
  processes?: number;
  device?: string;
}

export interface Report {
  kind: "reproduce" | "study" | "heads";
  title: string;
  intro: string;
  version: string;
  command: string;
  seed?: Num;
  sections: Section[];
  /** Said at the end of the page. */
  about: Fact[];
}
