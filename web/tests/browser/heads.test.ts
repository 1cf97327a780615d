// The page of a large model in headless Chromium: 32 layers of 32 heads, with as much data as `largo heads` writes of
// them (tests/report/heads_page_test.cpp bounds the size of the real page).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axeErrors, launch, openingTimes, openReport, shots, VIEWS } from "./browser";

const SIZE = 32;
const LARGEST = 3e6; // bytes
const SLOWEST = 1000; // milliseconds
const QUANTITIES = 24;
const BINS = 40;

const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const each = <T>(f: (i: number, j: number) => T) => range(SIZE).map((i) => range(SIZE).map((j) => f(i, j)));
// A number with five digits that depends on its place.
const digits = (...place: number[]) =>
  Number((1 + Math.abs(Math.sin(place.reduce((sum, p, k) => sum + p * (k + 1.37), 0.7)))).toFixed(4));

const middles = range(BINS).map((b) => -4.875 + b / 4);
const edges = range(BINS + 1).map((b) => -5 + b / 4);
const normal = edges.map((z) => Number((Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)).toPrecision(5)));
const heights = (i: number, j: number) => middles.map((_, b) => digits(i, j, b, 5) / 10);

const errors = (i: number, j: number) => ({
  caption: `Error of attention over L tokens drawn from those a query sees, relative to the outputs, of ${i}, ${j}.`,
  panels: [
    {
      title: "",
      x_label: "tokens drawn from the prompt, L",
      y_label: "relative error",
      log_x: true,
      log_y: true,
      curves: ["line", "dashed", "dotted"].map((style, k) => ({
        label: style,
        x: 0,
        y: range(11).map((l) => digits(i, j, k, l) / 4 ** l),
        style,
        color: k,
      })),
    },
  ],
});
const histogram = (i: number, j: number) => ({
  caption:
    "Scores of 128 queries, each less the mean of its query’s scores and divided by their standard deviation.",
  panels: [
    {
      title: "",
      x_label: "score − mean, in standard deviations",
      y_label: "density",
      log_x: false,
      log_y: false,
      curves: [
        { label: "scores of the head", x: 1, y: heights(i, j), style: "bars", color: 0 },
        { label: "normal density", x: 2, y: 3, style: "line", color: 7 },
      ],
    },
  ],
});
const grid = {
  id: "heads-grid",
  caption: "The heads.",
  row: "layer",
  column: "head",
  rows: range(SIZE).map(String),
  columns: range(SIZE).map(String),
  quantities: [
    { label: "kind", log: false, values: each((i, j) => ["affine", "sink", "mixed"][(i * j) % 3]) },
    ...range(QUANTITIES).map((q) => ({
      label: `error of sinks and recent keys beside a Gaussian mixture of the others, ${q}`,
      log: true,
      values: each((i, j) => digits(i, j, q)),
    })),
  ],
  lists: [range(11).map((l) => 4 ** l), middles, edges, normal],
  details: each((i, j) => [errors(i, j), histogram(i, j)]),
};
const columns = ["layer", "head", ...range(9).map((c) => `number ${c}`)];
const rows = each((i, j) => [i, j, ...range(9).map((c) => digits(i, j, c, 3))]).flat();
const report = {
  kind: "heads",
  title: "Heads",
  version: "0.0.0",
  command: "largo heads capture.safetensors --out heads.html",
  sections: [{ id: "heads", title: "Heads", grids: [grid], tables: [{ title: "Errors.", columns, rows }] }],
};

const template = readFileSync(new URL("../../dist/report.html", import.meta.url), "utf8");
const html = template.replace(
  'id="largo-data">null<',
  () => `id="largo-data">${JSON.stringify(report).replaceAll("<", "\\u003c")}<`,
);
const troubles: string[] = [];
let folder: string;
let url: string;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "largo-"));
  writeFileSync(join(folder, "heads.html"), html);
  url = pathToFileURL(join(folder, "heads.html")).href;
  browser = await launch();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

test("a thousand heads open in under a second", { timeout: 120_000 }, async () => {
  const size = Buffer.byteLength(html);
  expect(size).toBeGreaterThan(2e6); // as much as the real page has, or this says nothing
  expect(size).toBeLessThan(LARGEST);
  const walls = await openingTimes(browser, url, SLOWEST);
  console.log(`ready after ${walls.join(", ")} ms; ${Math.round(size / 1000)} kB`);
  expect(Math.min(...walls)).toBeLessThan(SLOWEST);
});

test("a chosen head shows bars that stand on its numbers", { timeout: 60_000 }, async () => {
  const page = await openReport(browser, url, "light", troubles);
  const [i, j] = [3, 17];
  await page
    .locator("table.grid tbody td")
    .nth(SIZE * i + j)
    .click();
  expect(await page.locator(".chosen h4").textContent()).toBe(`layer ${i}, head ${j}`);
  expect(await page.locator(".chosen > .scroller tbody tr").count()).toBe(QUANTITIES + 1);
  const chart = page.locator(".chosen .chart svg").nth(1);
  await chart.scrollIntoViewIfNeeded();
  const bars = await chart
    .locator("[data-mark=rect] rect")
    .evaluateAll((all) =>
      all.map((bar) => ["x", "y", "width", "height"].map((name) => Number(bar.getAttribute(name)))),
    );
  const wanted = heights(i, j);
  expect(bars).toHaveLength(BINS);
  const [, , width, height] = bars[0]!;
  const foot = bars[0]![1]! + height!;
  bars.forEach(([x, y, wide, high], b) => {
    expect(high! / height!).toBeCloseTo(wanted[b]! / wanted[0]!, 6);
    expect(y! + high!).toBeCloseTo(foot, 6); // all stand on one line
    expect(wide!).toBeCloseTo(width!, 6);
    if (b > 0) expect(x!).toBeCloseTo(bars[b - 1]![0]! + wide!, 6); // and touch
  });
  // The vertices of the curve are at the ends of the bars, and as high as the density there.
  const path = await chart.locator("[data-mark=line] path").getAttribute("d");
  const line = [...path!.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])]);
  expect(line).toHaveLength(BINS + 1);
  line.forEach(([x, y], b) => {
    expect(Math.abs(x! - (bars[0]![0]! + b * width!))).toBeLessThan(0.01);
    expect(Math.abs(foot - y! - (normal[b]! * height!) / wanted[0]!)).toBeLessThan(0.01);
  });
  if (shots) await page.screenshot({ path: `${shots}/heads.png`, fullPage: true });
  await page.context().close();
});

test(
  "a thousand heads are accessible, and nothing is wider than the page",
  { timeout: 120_000 },
  async () => {
    for (const view of ["light", "dark phone"] as const) {
      const page = await openReport(browser, url, view, troubles);
      await page.locator("table.grid tbody td").nth(40).click();
      expect(await axeErrors(page)).toEqual([]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(VIEWS[view].viewport.width);
      if (shots)
        await page.locator(".chosen").screenshot({ path: `${shots}/head-${view.replace(" ", "-")}.png` });
      await page.context().close();
    }
  },
);

test("no console error, no request but for the file itself", () => expect(troubles).toEqual([]));
