// A grid of cells, coloured by a quantity that the reader chooses; a chosen cell shows all that is known of it.
import * as Plot from "@observablehq/plot";
import { gridCsv } from "./csv";
import { button, h, raised, scrollable } from "./dom";
import { saveText } from "./download";
import { figureElement } from "./figure";
import { formatCell, formatNumber } from "./format";
import { CURVES } from "./palette";
import { dataTable } from "./table";
import type { Cell, Grid, Quantity } from "./types";

const STOPS = 12; // of the scale in the legend

interface Colors {
  /** null: the cell has no value. */
  of(value: Cell): string | null;
  legend: HTMLElement;
}

const swatch = (color: string) => h("span", { class: "swatch", style: `background:${color}` });

/** A colour for each text, in the order of their number. */
function textColors(values: Cell[]): Colors {
  const counts = new Map<string, number>();
  for (const value of values)
    if (value !== null) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  const texts = [...counts].sort((a, b) => b[1] - a[1]);
  const colors = new Map(texts.map(([text], i) => [text, CURVES[i % CURVES.length]!]));
  const items = texts.map(([text, count]) => h("li", {}, swatch(colors.get(text)!), `${text} (${count})`));
  return {
    of: (value) => (value === null ? null : colors.get(String(value))!),
    legend: h("ul", { class: "legend", "aria-label": "Legend" }, ...items),
  };
}

/** A scale that can be read without colour vision, too; values beyond it have the colour of its end. */
function numberColors({ log, label }: Quantity, values: Cell[]): Colors {
  const drawn = values.filter((v): v is number => typeof v === "number" && Number.isFinite(v));
  const placed = log ? drawn.filter((v) => v > 0) : drawn;
  const low = placed.length ? Math.min(...placed) : log ? 1 : 0;
  const high = placed.length ? Math.max(...placed) : 1;
  const place = (v: number) => {
    const [x, from, to] = log ? [Math.log(v), Math.log(low), Math.log(high)] : [v, low, high];
    return to > from ? Math.min(1, Math.max(0, (x - from) / (to - from))) : 0.5;
  };
  const { apply } = Plot.scale({ color: { type: "linear", domain: [0, 1], scheme: "viridis" } })!;
  const stops = Array.from({ length: STOPS }, (_, i) => apply(i / (STOPS - 1)) as string);
  return {
    of: (value) =>
      typeof value === "number" ? (apply(log && value <= 0 ? 0 : place(value)) as string) : null,
    legend: h(
      "p",
      { class: "ramp" },
      formatNumber(low, 3),
      h("span", {
        role: "img",
        "aria-label": `Colours of ${label}, ${log ? "on a logarithmic scale" : "evenly"} from low to high`,
        style: `background:linear-gradient(to right,${stops.join()})`,
      }),
      formatNumber(high, 3),
    ),
  };
}

function colorsOf(quantity: Quantity): Colors {
  const values = quantity.values.flat();
  return values.some((value) => typeof value === "string")
    ? textColors(values)
    : numberColors(quantity, values);
}

export function gridElement(grid: Grid, number: number): HTMLElement {
  const { rows, columns, quantities } = grid;
  const name = (i: number, j: number) => `${grid.row} ${rows[i]}, ${grid.column} ${columns[j]}`;
  const cells = rows.map(() => columns.map(() => h("td", { tabindex: "-1", role: "gridcell" })));
  const legend = h("div");
  const chosen = h("div", { class: "chosen", "aria-live": "polite" });

  const paint = (quantity: Quantity) => {
    const colors = colorsOf(quantity);
    legend.replaceChildren(colors.legend);
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        const value = quantity.values[i]![j]!;
        const color = colors.of(value);
        cell.style.background = color ?? "";
        cell.classList.toggle("empty", color === null);
        cell.title = `${name(i, j)}: ${formatCell(value)}`;
        cell.setAttribute("aria-label", cell.title);
      }),
    );
  };

  let at = { i: 0, j: 0 };
  const choose = (i: number, j: number) => {
    cells[at.i]![at.j]!.setAttribute("aria-selected", "false");
    cells[at.i]![at.j]!.tabIndex = -1;
    at = { i, j };
    const cell = cells[i]![j]!;
    cell.setAttribute("aria-selected", "true");
    cell.tabIndex = 0;
    const facts = quantities.map(({ label, values }) => [label, values[i]![j]!]);
    const views = grid.details?.[i]?.[j] ?? [];
    chosen.replaceChildren(
      h("h4", {}, name(i, j)),
      dataTable(["Quantity", "Value"], facts, name(i, j)),
      ...views.map((view, k) =>
        figureElement({ ...view, id: `${grid.id}-${i}-${j}-${k + 1}` }, `${number}${"abcdefgh"[k] ?? "z"}`),
      ),
    );
  };
  cells.forEach((row, i) => row.forEach((cell, j) => cell.addEventListener("click", () => choose(i, j))));

  const table = h(
    "table",
    { class: "grid", role: "grid", "aria-label": `${grid.row}s and ${grid.column}s` },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}, `${grid.row} \\ ${grid.column}`),
        ...columns.map((c) => h("th", { scope: "col" }, c)),
      ),
    ),
    h("tbody", {}, ...cells.map((row, i) => h("tr", {}, h("th", { scope: "row" }, rows[i]), ...row))),
  );
  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const clamp = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
    const [i, j] = [clamp(at.i + step[0]!, rows.length), clamp(at.j + step[1]!, columns.length)];
    choose(i, j);
    cells[i]![j]!.focus();
  });

  const select = h(
    "select",
    { id: `quantity-${grid.id}` },
    ...quantities.map(({ label }, i) => h("option", { value: i }, label)),
  );
  select.addEventListener("change", () => paint(quantities[Number(select.value)]!));
  paint(quantities[0]!);
  choose(0, 0);

  const title = `Figure ${number}`;
  const csv = button("CSV", `${title} as CSV`, () => saveText(`${grid.id}.csv`, gridCsv(grid), "text/csv"));
  return h(
    "figure",
    { id: `figure-${grid.id}`, class: "grid-figure" },
    h("div", { class: "choice" }, h("label", { for: select.id }, "Colour"), select),
    scrollable(h("div", { class: "table" }, table), title),
    legend,
    h("figcaption", {}, h("strong", {}, `${title}.`), " ", ...raised(grid.caption)),
    h("div", { class: "under" }, csv),
    chosen,
  );
}
