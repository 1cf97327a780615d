// The documentation's site (scripts/site) in headless Chromium, opened from disk. SITE is its folder.
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeErrors, launch, shots, VIEWS, type View } from "../browser/browser";

const SITE = process.env.SITE!;
const pages = readdirSync(SITE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".html"))
  .sort();
const NARROW: View[] = ["light", "phone"];
const THEMES: View[] = ["light", "dark"];

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Opens each page in this view; what its console says and what it asks for elsewhere goes to `troubles`. */
async function onEveryPage(
  view: View,
  look: (page: Page, name: string) => Promise<string[]>,
): Promise<string[]> {
  const troubles: string[] = [];
  const context = await browser.newContext(VIEWS[view]);
  const page = await context.newPage();
  let name = "";
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      troubles.push(`${name}: ${message.text()}`);
  });
  page.on("pageerror", (error) => troubles.push(`${name}: ${error}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) troubles.push(`${name}: request ${request.url()}`);
  });
  for (name of pages) {
    await page.goto(pathToFileURL(join(SITE, name)).href);
    troubles.push(...(await look(page, name)).map((trouble) => `${name}: ${trouble}`));
    if (shots && /^(index|moments|icl)\.html$/.test(name)) {
      await page.screenshot({ path: join(shots, `${view}-${relative(".", name).replace("/", "-")}.png`) });
    }
  }
  await context.close();
  return troubles;
}

for (const view of THEMES) {
  test(`axe finds no accessibility error on any page, ${view}`, { timeout: 600_000 }, async () => {
    expect(await onEveryPage(view, (page) => axeErrors(page))).toEqual([]);
  });
}

for (const view of NARROW) {
  test(`no page is wider than its window, ${view}`, { timeout: 300_000 }, async () => {
    const tooWide = await onEveryPage(view, async (page) => {
      const [inner, outer] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.clientWidth,
      ]);
      return inner! > outer! ? [`${inner} pixels wide in ${outer}`] : [];
    });
    expect(tooWide).toEqual([]);
  });
}

test("formulas are MathML, in a font for mathematics", async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(SITE, "moments.html")).href);
  await page.evaluate(() => document.fonts.ready);
  const [formulas, integrals, font] = await page.evaluate(() => [
    document.querySelectorAll(".formula math").length,
    [...document.querySelectorAll("math mo")].filter((sign) => sign.textContent === "∫").length,
    document.fonts.check('16px "Latin Modern Math"'),
  ]);
  expect(formulas).toBeGreaterThan(20);
  expect(integrals).toBeGreaterThan(5);
  expect(font).toBe(true);
  await page.close();
});

test("the search finds words of pages, functions of Python and types of C++", async () => {
  const page = await browser.newPage();
  for (const [word, target] of [
    ["needle", "token-classes"],
    ["length_for_tolerance", "reference/python"],
    ["SoftmaxTable", "reference/cpp"],
    ["checkpoint", "icl"],
  ] as const) {
    await page.goto(`${pathToFileURL(join(SITE, "search.html")).href}?q=${word}`);
    await page.waitForSelector("#search-results li a");
    await page.waitForFunction(() =>
      /\d+ page/.test(document.querySelector("#search-results")?.textContent ?? ""),
    );
    const found = await page.$$eval("#search-results li a", (links) =>
      links.map((link) => (link as HTMLAnchorElement).href),
    );
    expect(
      found.some((href) => href.includes(target)),
      `${word} in ${found.join(" ")}`,
    ).toBe(true);
  }
  await page.close();
});
