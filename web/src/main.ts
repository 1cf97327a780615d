// The page: reads the data in it and shows the report.
import { commandLine } from "./copy";
import { readReport } from "./data";
import { h, paragraphs } from "./dom";
import { formatCell } from "./format";
import { runAll, whenDone } from "./lazy";
import { DataError } from "./read";
import { sectionElement } from "./section";
import "./style.css";
import { summaryElement } from "./summary";
import { themeToggle } from "./theme";
import type { Report } from "./types";

function header(report: Report): HTMLElement {
  const fact = (name: string, value: string) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h(
    "header",
    {},
    h("h1", {}, report.title),
    ...paragraphs(report.intro, "intro"),
    h(
      "dl",
      { class: "facts" },
      fact("largo", report.version),
      report.seed !== undefined && fact("Seed", formatCell(report.seed)),
    ),
    commandLine(report.command),
  );
}

function show(report: Report): void {
  document.title = report.title;
  const count = { figure: 0, table: 0 };
  const sections = report.sections.map((section) => sectionElement(section, count));
  document.getElementById("report")!.replaceChildren(header(report), summaryElement(report), ...sections);
  // Until then sections out of sight are not laid out (style.css).
  const complete = () => (document.documentElement.dataset.complete = "");
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return whenDone(complete);
  complete();
  target.scrollIntoView(); // the browser looked for it before it was there
}

function showMessage(title: string, text: string): void {
  document.title = `largo: ${title}`;
  document
    .getElementById("report")!
    .replaceChildren(h("h1", {}, title), h("p", { role: "alert", class: "message" }, text));
}

function start(): void {
  document.getElementById("theme")!.append(themeToggle());
  try {
    const report = readReport(document.getElementById("largo-data")?.textContent ?? "null");
    if (report) show(report);
    else showMessage("No data", "This page is a template: largo fills it with the data of a report.");
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    showMessage("The data of this report cannot be shown", `${error.message}.`);
  }
  addEventListener("beforeprint", runAll);
  // The charts in sight are drawn after the first frame, when they know their width.
  const frames = (n: number, act: () => void) =>
    requestAnimationFrame(n > 1 ? () => frames(n - 1, act) : act);
  frames(3, () => (document.documentElement.dataset.ready = String(Math.round(performance.now()))));
}

start();
