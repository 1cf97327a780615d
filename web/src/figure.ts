// A figure: its panels, legend, slider, caption, data and files.
import { fixedAxes } from "./axis";
import { drawPanel } from "./chart";
import { FIGURE_COLUMNS, figureCsv, figureRows } from "./csv";
import { button, h, raised } from "./dom";
import { composeSvg, save, saveText, svgText, toPng } from "./download";
import { formatCell } from "./format";
import { whenNear } from "./lazy";
import { isShared, legend, legendEntries } from "./legend";
import { pageInks } from "./palette";
import { dataTable, lazyDetails } from "./table";
import type { Figure, Panel, Slider, View } from "./types";

const HEIGHT = { least: 250, most: 390, perWidth: 0.7 };

const clamp = (value: number, from: number, to: number) => Math.min(Math.max(value, from), to);

/** What a screen reader says of a panel. */
export function describe(panel: Panel): string {
  const scale = (log: boolean) => (log ? "logarithmic" : "linear");
  const labels = legendEntries([panel]).map((entry) => entry.curve.label);
  return [
    panel.title ? `Chart “${panel.title}”` : "Chart",
    ` of ${panel.y_label || "y"} (${scale(panel.log_y)}) against ${panel.x_label || "x"} (${scale(panel.log_x)})`,
    labels.length ? `; curves: ${labels.join(", ")}` : "",
  ].join("");
}

/** The frame that a view begins with: the one that is its `panels`, if there is one. */
export function firstFrame({ panels, slider }: View): number {
  const same = JSON.stringify(panels);
  return Math.max(0, slider?.panels.findIndex((frame) => JSON.stringify(frame) === same) ?? 0);
}

// What the figures of the page do when something else is to stand on their x axis: all that can change together.
const followers: ((x: string) => void)[] = [];

/** `number` is what it is called by: 3, or 3a for a part of figure 3. */
export function figureElement(figure: Figure, number: number | string): HTMLElement {
  const element = h("figure", { id: `figure-${figure.id}` });
  const views = [figure, ...(figure.views ?? [])];
  const columns = (view: View) =>
    Math.max(view.panels.length, ...(view.slider?.panels ?? []).map((frame) => frame.length));
  const choice = views.length > 1 && xAxisChoice(figure.id, views);
  let shown: View | undefined;
  const show = (view: View) => {
    if (view === shown) return;
    shown = view;
    element.className = `columns-${Math.min(columns(view), 3)}`;
    element.replaceChildren(...(choice ? [choice] : []), ...viewElements(view, figure.id, number));
  };
  if (choice) {
    const select = choice.querySelector("select")!;
    select.addEventListener("change", () => followers.forEach((follow) => follow(select.value)));
    followers.push((x) => {
      const view = views.find((one) => one.x === x);
      if (!view) return;
      select.value = x;
      show(view);
    });
  }
  show(figure);
  return element;
}

function xAxisChoice(id: string, views: View[]): HTMLElement {
  const name = `x-axis-${id}`;
  const options = views.map(({ x = "" }) => h("option", { value: x }, x));
  return h(
    "div",
    { class: "choice" },
    h("label", { for: name }, "Against"),
    h("select", { id: name }, ...options),
  );
}

/** Panels, legend, slider, caption, data and files of what a figure shows. */
function viewElements(view: View, id: string, number: number | string): HTMLElement[] {
  const { slider } = view;
  const frames = slider?.panels ?? [view.panels];
  const most = Math.max(...frames.map((frame) => frame.length));
  const axes = Array.from({ length: most }, (_, i) => fixedAxes(frames, i));
  let frame = slider ? firstFrame(view) : 0;
  let widths: number[] = [];
  const shown = () => frames[frame]!;

  const boxes = axes.map(() => h("div", { class: "chart", role: "img" }));
  const legends = axes.map(() => h("div"));
  const titles = axes.map(() => h("p", { class: "panel-title" }));
  const below = h("div");
  const cells = axes.map((_, i) => h("div", { class: "panel" }, titles[i], boxes[i], legends[i]));

  const drawCharts = () => {
    shown().forEach((panel, i) => {
      const width = widths[i] ?? 0;
      if (width < 40) return; // it waits, or has no place yet
      const height = Math.round(clamp(width * HEIGHT.perWidth, HEIGHT.least, HEIGHT.most));
      boxes[i]!.replaceChildren(
        drawPanel(panel, { width, height, axes: axes[i]!, inks: pageInks, figure: shown(), hover: true }),
      );
    });
  };
  const draw = () => {
    const panels = shown();
    const shared = isShared(panels);
    cells.forEach((cell, i) => {
      const panel = panels[i];
      cell.hidden = !panel;
      if (!panel) return;
      titles[i]!.replaceChildren(panel.title);
      titles[i]!.hidden = !panels.some((other) => other.title);
      boxes[i]!.setAttribute("aria-label", describe(panel));
      legends[i]!.replaceChildren((!shared && legend([panel], panels, pageInks)) || "");
    });
    below.replaceChildren((shared && legend(panels, panels, pageInks)) || "");
    drawCharts();
  };
  const resize = () => {
    const now = boxes.map((box) => Math.floor(box.clientWidth));
    if (now.every((width, i) => width === widths[i])) return;
    widths = now;
    drawCharts();
  };
  whenNear(boxes[0]!, () => {
    resize(); // at once, for printing
    new ResizeObserver(resize).observe(boxes[0]!);
  });

  const name = `Figure ${number}`;
  const image = () => composeSvg(shown(), axes, view.caption || name);
  const file = id || `figure-${number}`;
  const said = h("span", { class: "said", role: "status" });
  const data = lazyDetails("Data", () => h("div", { class: "frame-data" }));
  const fillData = () => {
    if (data.open)
      data.lastElementChild!.replaceChildren(
        dataTable(FIGURE_COLUMNS, figureRows(shown()), `Data of ${name.toLowerCase()}`),
      );
  };
  data.addEventListener("toggle", fillData);

  const tools = h(
    "div",
    { class: "tools", role: "group", "aria-label": `Files of ${name.toLowerCase()}` },
    button("SVG", `${name} as SVG`, () => saveText(`${file}.svg`, svgText(image()), "image/svg+xml")),
    button("PNG", `${name} as PNG`, () => {
      toPng(image()).then(
        (png) => save(`${file}.png`, png),
        (error: Error) => said.replaceChildren(error.message),
      );
    }),
    button("CSV", `Data of ${name.toLowerCase()} as CSV`, () =>
      saveText(`${file}.csv`, figureCsv(view), "text/csv"),
    ),
    said,
  );
  const control =
    slider &&
    sliderElement(id, slider, frame, (i) => {
      frame = i;
      draw();
      fillData();
    });
  draw();
  return [
    ...(control ? [control] : []),
    h("div", { class: "panels" }, ...cells),
    below,
    h("figcaption", {}, h("strong", {}, `${name}.`), " ", ...raised(view.caption)),
    h("div", { class: "under" }, tools, data),
  ];
}

function sliderElement(
  id: string,
  { label, values }: Slider,
  first: number,
  move: (frame: number) => void,
): HTMLElement {
  const value = (i: number) => formatCell(values[i]!);
  const spoken = (i: number) => `${label} = ${value(i)}`;
  const name = `slider-${id}`;
  const input = h("input", {
    type: "range",
    id: name,
    min: 0,
    max: values.length - 1,
    step: 1,
    value: first,
  });
  const output = h("output", { for: name }, value(first));
  input.setAttribute("aria-valuetext", spoken(first));
  input.addEventListener("input", () => {
    const i = Number(input.value);
    output.replaceChildren(value(i));
    input.setAttribute("aria-valuetext", spoken(i));
    move(i);
  });
  return h("div", { class: "slider" }, h("label", { for: name }, label), input, output);
}
