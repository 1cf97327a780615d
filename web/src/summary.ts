// The top of the report: the claims and their verdicts, or the contents of a study.
import { h } from "./dom";
import type { Report, Section, Verdict } from "./types";

const SYMBOLS: Record<Verdict, string> = { holds: "✓", fails: "✗", "not testable": "–" };

/** The verdict by symbol and words; the colour only repeats them. */
export function verdictBadge(verdict: Verdict): HTMLElement {
  const name = verdict.replace(" ", "-");
  return h(
    "span",
    { class: `verdict ${name}` },
    h("span", { "aria-hidden": "true" }, SYMBOLS[verdict]),
    ` ${verdict}`,
  );
}

/** "6 of 8 claims hold, 1 fails, 1 is not testable." */
export function verdictCounts(verdicts: Verdict[]): string {
  const count = (verdict: Verdict) => verdicts.filter((v) => v === verdict).length;
  const [holds, fails, untested] = [count("holds"), count("fails"), count("not testable")];
  const claims = verdicts.length === 1 ? "claim" : "claims";
  const parts = [`${holds} of ${verdicts.length} ${claims} ${holds === 1 ? "holds" : "hold"}`];
  if (fails) parts.push(`${fails} ${fails === 1 ? "fails" : "fail"}`);
  if (untested) parts.push(`${untested} ${untested === 1 ? "is" : "are"} not testable`);
  return `${parts.join(", ")}.`;
}

const link = (section: Section) => h("a", { href: `#claim-${section.id}` }, section.title);

function claimsTable(sections: Section[]): HTMLElement {
  const column = (title: string, name: string) => h("th", { scope: "col", class: name }, title);
  const rows = sections.map((section) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        link(section),
        section.source && h("span", { class: "narrow-from" }, section.source),
      ),
      h("td", { class: "from" }, section.source ?? "–"),
      h("td", {}, section.verdict ? verdictBadge(section.verdict) : "–"),
      h("td", { class: "why" }, section.reason ?? ""),
    ),
  );
  const titles = [
    column("Claim", ""),
    column("Source", "from"),
    column("Verdict", ""),
    column("Result", "why"),
  ];
  return h(
    "table",
    { class: "claims", "aria-labelledby": "summary-title" },
    h("thead", {}, h("tr", {}, ...titles)),
    h("tbody", {}, ...rows),
  );
}

export function summaryElement(report: Report): HTMLElement {
  const verdicts = report.sections.flatMap((section) => section.verdict ?? []);
  const claims = verdicts.length > 0;
  const contents = h("ol", {}, ...report.sections.map((section) => h("li", {}, link(section))));
  return h(
    "section",
    { id: "summary", "aria-labelledby": "summary-title", tabindex: "-1" },
    h("h2", { id: "summary-title" }, claims ? "Summary of claims" : "Contents"),
    claims && h("p", { class: "counts" }, verdictCounts(verdicts)),
    claims ? claimsTable(report.sections) : contents,
  );
}
