// The page: reads the data in it and shows the report.
import { aboutElement, runSummary } from "./about";
import { commandLine } from "./copy";
import { readReport, readRun } from "./data";
import { h, paragraphs } from "./dom";
import { runAll, whenDone } from "./lazy";
import { DataError } from "./read";
import { sectionElement } from "./section";
import "./style.css";
import { summaryElement } from "./summary";
import { themeToggle } from "./theme";
import type { Fact, Report, Run } from "./types";

function header(report: Report, run: Run | null): HTMLElement {
  const fact = ({ label, value }: Fact) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
  return h(
    "header",
    {},
    h("h1", {}, report.title),
    ...paragraphs(report.intro, "intro"),
    h("dl", { class: "facts" }, ...runSummary(report, run).map(fact)),
    commandLine(report.command),
  );
}

function show(report: Report, run: Run | null): void {
  document.title = report.title;
  const count = { figure: 0, table: 0 };
  const sections = report.sections.map((section) => sectionElement(section, count));
  document
    .getElementById("report")!
    .replaceChildren(header(report, run), summaryElement(report), ...sections, ...aboutElement(report, run));
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
    const run = readRun(document.getElementById("largo-run")?.textContent ?? "null");
    if (report) show(report, run);
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
