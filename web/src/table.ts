// Tables of numbers.
import { h, scrollable } from "./dom";
import { formatCell } from "./format";
import type { Cell } from "./types";

/** A table in a box that scrolls sideways where it must. Columns without text are set flush right. */
export function dataTable(columns: string[], rows: Cell[][], name: string): HTMLElement {
  const numeric = columns.map((_, c) => rows.some((row) => typeof row[c] === "number"));
  const side = (c: number) => (numeric[c] ? "number" : undefined);
  const head = columns.map((column, c) => h("th", { scope: "col", class: side(c) }, column));
  const body = rows.map((row) =>
    h("tr", {}, ...row.map((cell, c) => h("td", { class: side(c) }, formatCell(cell)))),
  );
  const table = h(
    "table",
    { "aria-label": name },
    h("thead", {}, h("tr", {}, ...head)),
    h("tbody", {}, ...body),
  );
  return scrollable(h("div", { class: "table" }, table), name);
}

/** A closed box whose content is made when it is opened: most readers never do. */
export function lazyDetails(summary: string, make: () => Node): HTMLDetailsElement {
  const details = h("details", {}, h("summary", {}, summary));
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  };
  details.addEventListener("toggle", fill);
  details.addEventListener("fill", fill);
  return details;
}

/** On paper nothing can be opened. */
export function openForPrint(details: HTMLDetailsElement): void {
  let closed = false;
  addEventListener("beforeprint", () => {
    closed = !details.open;
    details.open = true;
    details.dispatchEvent(new Event("fill")); // "toggle" comes too late
  });
  addEventListener("afterprint", () => {
    if (closed) details.open = false;
  });
}
