// What made the report: a few facts on top, all of them at the end.
import { h } from "./dom";
import { formatCell } from "./format";
import type { Fact, Report, Run } from "./types";

const SHORT = 10; // digits of a commit that name it

/** "2026-11-16 14:03 UTC" of "2026-11-16T14:03:27Z"; other texts stay. */
export const readableDate = (date: string) =>
  date.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?Z$/, "$1 $2 UTC");

const changed = (run: Run) => (run.modified ? ", modified" : "");

export function runSummary(report: Report, run: Run | null): Fact[] {
  const commit = run?.commit ? ` (${run.commit.slice(0, SHORT)}${changed(run)})` : "";
  const facts = [{ label: "largo", value: `${report.version}${commit}` }];
  if (report.seed !== undefined) facts.push({ label: "Seed", value: formatCell(report.seed) });
  if (run?.date) facts.push({ label: "Date", value: readableDate(run.date) });
  return facts;
}

/** All facts, in the order in which they are told. */
export function runFacts(run: Run): Fact[] {
  const several = (count: number | undefined, one: string, many: string) =>
    count === undefined ? undefined : `${count} ${count === 1 ? one : many}`;
  const work = [
    several(run.threads, "thread", "threads"),
    several(run.processes, "process", "processes"),
    run.simd && `SIMD ${run.simd}`,
    run.device && `device ${run.device}`,
  ];
  const facts: [string, string | undefined][] = [
    ["Date", run.date && readableDate(run.date)],
    ["Version", run.version && `largo ${run.version}`],
    ["Commit", run.commit && `${run.commit}${run.modified ? ", with changes" : ""}`],
    ["Compiler", run.compiler],
    ["Machine", run.machine],
    ["Ran on", work.filter(Boolean).join(", ")],
  ];
  return facts.flatMap(([label, value]) => (value ? [{ label, value }] : []));
}

/** The section at the end; nothing where there is nothing to tell. */
export function aboutElement(report: Report, run: Run | null): HTMLElement[] {
  const facts = [...(run ? runFacts(run) : []), ...report.about];
  if (facts.length === 0) return [];
  return [
    h(
      "section",
      { id: "about", "aria-labelledby": "about-title", tabindex: "-1" },
      h("h2", { id: "about-title" }, "About this report"),
      run &&
        h(
          "p",
          {},
          "How and where it was made. The numbers depend on the version and the seed, not on the machine.",
        ),
      h(
        "dl",
        { class: "about" },
        ...facts.flatMap(({ label, value }) => [h("dt", {}, label), h("dd", {}, value)]),
      ),
    ),
  ];
}
