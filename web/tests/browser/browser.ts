// What tests in headless Chromium share. CHROMIUM: the browser (default: Debian's); SHOTS: a folder for screenshots
// (default: none).
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type Page } from "playwright-core";

export const VIEWS = {
  light: { viewport: { width: 1200, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1200, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: "light", isMobile: true, hasTouch: true },
  "dark phone": {
    viewport: { width: 360, height: 740 },
    colorScheme: "dark",
    isMobile: true,
    hasTouch: true,
  },
} as const;
export type View = keyof typeof VIEWS;

export const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** The report at `url`, once it is complete. Console errors and requests of the page go to `troubles`. */
export async function openReport(
  browser: Browser,
  url: string,
  view: View,
  troubles: string[],
): Promise<Page> {
  const context = await browser.newContext({ ...VIEWS[view], acceptDownloads: true });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) troubles.push(`request ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  await page.waitForFunction(() => document.documentElement.dataset.complete !== undefined);
  return page;
}

/** What axe-core finds wrong. */
export async function axeErrors(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    // Without preload: axe would ask for style sheets again, which a page on disk may not.
    return (await axe.run({ preload: false })).violations.map(
      (v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" | ")}`,
    );
  });
}

/**
 * Milliseconds until the page can be read, by the clock. What else runs on the machine can only make it slower: the
 * fastest of some counts.
 */
export async function openingTimes(browser: Browser, url: string, limit: number): Promise<number[]> {
  const walls: number[] = [];
  while (walls.length < 10 && !(walls.length >= 3 && Math.min(...walls) < limit)) {
    const context = await browser.newContext(VIEWS.light);
    const page = await context.newPage();
    await page.goto(url);
    const ready = await page.waitForFunction(() => Number(document.documentElement.dataset.ready));
    walls.push((await ready.jsonValue()) as number);
    await context.close();
  }
  return walls;
}
