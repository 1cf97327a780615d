// The section of a claim, or of a study.
import temml from "temml";
import { commandLine } from "./copy";
import { tableCsv } from "./csv";
import { button, h, paragraphs, raised, scrollable } from "./dom";
import { saveText } from "./download";
import { figureElement } from "./figure";
import { gridElement } from "./grid";
import { verdictBadge } from "./summary";
import { dataTable, lazyDetails, openForPrint } from "./table";
import type { NumberRow, Section, Table } from "./types";

const LONG = 20; // tables with more rows are closed at first

/** Counts figures and tables through the whole report. */
export interface Counters {
  figure: number;
  table: number;
}

function formulaElement(latex: string): HTMLElement {
  const box = h("div", { class: "formula" });
  temml.render(latex, box, { displayMode: true, throwOnError: false, annotate: true });
  const outer = scrollable(box, "Formula");
  outer.classList.add("formula-box");
  return outer;
}

function numbersElement(numbers: NumberRow[], name: string): HTMLElement {
  const limited = numbers.some((row) => row.limit !== undefined);
  const columns = ["Quantity", "Value", ...(limited ? ["At most"] : [])];
  const rows = numbers.map(({ label, value, limit }) => [label, value, ...(limited ? [limit ?? null] : [])]);
  const box = dataTable(columns, rows, name);
  box.classList.add("numbers");
  return box;
}

function tableElement(table: Table, number: number, file: string): HTMLElement {
  const name = `Table ${number}`;
  const title = table.title && ` ${table.title}`;
  const make = () => dataTable(table.columns, table.rows, `${name}.${title}`);
  const long = table.rows.length > LONG && lazyDetails(`${table.rows.length} rows`, make);
  if (long) {
    long.classList.add("long-table");
    openForPrint(long);
  }
  const csv = button("CSV", `${name} as CSV`, () => saveText(`${file}.csv`, tableCsv(table), "text/csv"));
  return h(
    "figure",
    { class: "table-figure" },
    h("figcaption", {}, h("strong", {}, title ? `${name}.` : name), ...raised(title)),
    long || make(),
    h("div", { class: "under" }, csv),
  );
}

const part = (title: string, ...content: Node[]) => (content.length ? [h("h3", {}, title), ...content] : []);

export function sectionElement(section: Section, count: Counters): HTMLElement {
  const id = `claim-${section.id}`;
  const heading = `${id}-title`;
  const figures = [
    ...section.grids.map((grid) => gridElement(grid, ++count.figure)),
    ...section.figures.map((figure) => figureElement(figure, ++count.figure)),
  ];
  const tables = section.tables.map((table, i) =>
    tableElement(table, ++count.table, `${section.id}-table-${i + 1}`),
  );
  const { verdict, reason } = section;
  return h(
    "section",
    { id, "aria-labelledby": heading, tabindex: "-1" },
    section.source && h("p", { class: "source" }, section.source),
    h("h2", { id: heading }, section.title),
    ...paragraphs(section.statement, "statement"),
    section.formula && formulaElement(section.formula),
    ...part("What was computed", ...paragraphs(section.computed)),
    ...part("Negative control", ...(section.control ? paragraphs(section.control) : [])),
    ...(verdict
      ? part("Verdict", h("p", { class: "verdict-line" }, verdictBadge(verdict), reason && ` ${reason}`))
      : []),
    ...(!verdict && reason ? paragraphs(reason) : []),
    ...part(
      "Numbers",
      ...(section.numbers.length ? [numbersElement(section.numbers, `Numbers: ${section.title}`)] : []),
    ),
    ...part(figures.length > 1 ? "Figures" : "Figure", ...figures),
    ...part(tables.length > 1 ? "Tables" : "Table", ...tables),
    ...part("Command", ...(section.command ? [commandLine(section.command)] : [])),
    h("p", { class: "back" }, h("a", { href: "#summary" }, "Back to the summary")),
  );
}
