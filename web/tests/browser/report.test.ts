// The report in headless Chromium. REPORT: the file (default: the filled sample); browser.ts has more.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Figure, Section } from "../../src/types";
import { axeErrors, launch, openingTimes, openReport, shots, VIEWS, type View } from "./browser";

const file = resolve(process.env.REPORT ?? new URL("../../sample/report.html", import.meta.url).pathname);
const url = pathToFileURL(file).href;
const html = readFileSync(file, "utf8");
const data = JSON.parse(/id="largo-data">(.*?)<\/script>/s.exec(html)![1]!);
const sections: Section[] = data.sections;
const figures: Figure[] = sections.flatMap((section) => section.figures ?? []);

let browser: Browser;
const troubles: string[] = []; // console errors and requests of any page

beforeAll(async () => {
  browser = await launch();
}, 60_000);
afterAll(async () => browser?.close());

const open = (view: View = "light"): Promise<Page> => openReport(browser, url, view, troubles);

/** Runs `look` on a page of each view. */
const each = (name: string, look: (page: Page, view: View) => Promise<void>) =>
  describe.each(Object.keys(VIEWS) as View[])(name, (view) => {
    test(view, { timeout: 120_000 }, async () => {
      const page = await open(view);
      await look(page, view);
      await page.context().close();
    });
  });

/** Runs `look` on a page for each of `all`, in one test, if there are any. */
const forAll = <T>(
  all: T[],
  name: string,
  timeout: number,
  look: (page: Page, one: T) => Promise<void>,
  view: View = "light",
) =>
  test.runIf(all.length)(name, { timeout }, async () => {
    const page = await open(view);
    for (const one of all) await look(page, one);
    await page.context().close();
  });

each("every section, figure and panel is there", async (page, view) => {
  expect(await page.locator("main > section[id^=claim-]").count()).toBe(sections.length);
  expect(await page.locator(".claims tbody tr, #summary ol li").count()).toBe(sections.length);
  for (const figure of figures) {
    const charts = page.locator(`[id="figure-${figure.id}"] .panel:not([hidden]) .chart`);
    const panels = (figure.slider?.panels[0] ?? figure.panels).length;
    expect(await charts.count()).toBe(panels);
    for (let i = 0; i < panels; ++i) {
      const ink = await charts
        .nth(i)
        .locator("svg")
        .evaluate((chart) => {
          const marks =
            "[data-mark=line] path, [data-mark=dot] path, [data-mark=dot] circle, [data-mark=area] path, [data-mark=rect] rect";
          const box = chart.getBoundingClientRect();
          return { marks: chart.querySelectorAll(marks).length, width: box.width, height: box.height };
        });
      expect(ink.marks).toBeGreaterThan(0);
      expect(ink.width).toBeGreaterThan(150);
      expect(ink.height).toBeGreaterThan(150);
    }
  }
  const controls = page.locator("main > section h3", { hasText: "Negative control" });
  expect(await controls.count()).toBe(sections.filter((section) => section.control).length);
  const bad = await page.evaluate(() => document.body.innerHTML.match(/NaN|undefined|\[object/g));
  expect(bad).toBeNull();
  if (shots) await page.screenshot({ path: `${shots}/${view.replace(" ", "-")}.png`, fullPage: true });
});

each("nothing is wider than the page", async (page, view) => {
  // Not innerWidth: a phone zooms out until all fits.
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(VIEWS[view].viewport.width);
});

each("axe finds no accessibility error, boxes open", async (page) => {
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  await page.waitForTimeout(300);
  // Rows are alike, and axe takes minutes for thousands.
  await page.evaluate(() =>
    document.querySelectorAll("tbody tr:nth-child(n + 15)").forEach((row) => row.remove()),
  );
  await page.waitForTimeout(300);
  expect(await axeErrors(page)).toEqual([]);
});

each("labels and legends have a contrast of 4.5", async (page) => {
  // axe does not look into SVG.
  const least = await page.evaluate(() => {
    const light = (color: string) => {
      const [r, g, b] = color
        .match(/[\d.]+/g)!
        .map((v) =>
          Number(v) / 255 <= 0.04045 ? Number(v) / 255 / 12.92 : ((Number(v) / 255 + 0.055) / 1.055) ** 2.4,
        );
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const paper = light(getComputedStyle(document.documentElement).backgroundColor);
    const texts = [...document.querySelectorAll(".chart text, .legend li")];
    return Math.min(
      21,
      ...texts.map((text) => {
        const style = getComputedStyle(text);
        const ink = light(text instanceof SVGElement ? style.fill : style.color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
      }),
    );
  });
  expect(least).toBeGreaterThanOrEqual(4.5);
});

each("labels stand beside the middle of their axis, within the chart", async (page) => {
  const bad = await page.evaluate(() => {
    const out: string[] = [];
    for (const chart of document.querySelectorAll(".chart svg")) {
      const text = chart.querySelector(".y-label text, .y-label");
      if (!text?.textContent) continue;
      const [label, box] = [text.getBoundingClientRect(), chart.getBoundingClientRect()];
      const ticks = [...chart.querySelectorAll("[data-mark=rule]")].map((g) => g.getBoundingClientRect());
      const frame = ticks.find((rect) => rect.height > 100) ?? box; // the grid across
      const off = (label.top + label.bottom - frame.top - frame.bottom) / 2;
      if (Math.abs(off) > 3) out.push(`${text.textContent}: ${off} px off the middle`);
      if (label.top < box.top - 6 || label.bottom > box.bottom + 6) out.push(`${text.textContent}: too long`);
    }
    return out;
  });
  expect(bad).toEqual([]);
});

each("markers on lines stand on computed points", async (page) => {
  const astray = await page.evaluate(() => {
    const out: string[] = [];
    for (const chart of document.querySelectorAll(".chart svg")) {
      const lines = [...chart.querySelectorAll("[data-mark=line] path")];
      const vertices = lines.map((path) =>
        [...path.getAttribute("d")!.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(
          (m) => [+m[1]!, +m[2]!] as const,
        ),
      );
      for (const dots of chart.querySelectorAll("[data-mark=dot]")) {
        const color = dots.getAttribute("stroke");
        const own = lines.flatMap((path, i) =>
          (path.getAttribute("stroke") ?? path.parentElement!.getAttribute("stroke")) === color
            ? vertices[i]!
            : [],
        );
        const open = dots.getAttribute("fill") === "var(--paper)";
        if (!open || own.length === 0) continue; // points of their own, ends of bars
        for (const dot of dots.children) {
          const at = /translate\((-?[\d.]+),(-?[\d.]+)\)/.exec(dot.getAttribute("transform") ?? "");
          if (!at) continue;
          const near = own.some(([x, y]) => Math.hypot(x - +at[1]!, y - +at[2]!) < 0.6);
          if (!near) out.push(`${chart.parentElement!.getAttribute("aria-label")}: ${at[0]}`);
        }
      }
    }
    return out;
  });
  expect(astray).toEqual([]);
});

each("what is wider than its place says so", async (page, view) => {
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  await page.waitForTimeout(300);
  const look = () =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".table, .formula")]
        .filter((box) => box.checkVisibility())
        .map((box) => {
          const hint = box.parentElement!.querySelector<HTMLElement>(".scroll-hint")!;
          const wide = box.scrollWidth > box.clientWidth + 1;
          return { wide, hinted: hint.checkVisibility(), fades: getComputedStyle(box).maskImage !== "none" };
        }),
    );
  // A box that was just opened is looked at by the page a little later.
  await expect
    .poll(async () => (await look()).filter(({ wide, hinted, fades }) => hinted !== wide || fades !== wide), {
      timeout: 10_000,
    })
    .toEqual([]);
  const boxes = await look();
  if (
    view === "phone" &&
    sections.some((section) => (section.tables ?? []).some((t) => t.columns.length > 5))
  )
    expect(boxes.some(({ wide }) => wide)).toBe(true);
  // At its end nothing is cut on the right any more.
  const last = await page.evaluate(async () => {
    const boxes = [...document.querySelectorAll<HTMLElement>(".table, .formula")];
    const wide = boxes.find((box) => box.scrollWidth > box.clientWidth + 1);
    if (!wide) return null;
    wide.scrollLeft = wide.scrollWidth;
    await new Promise((done) => setTimeout(done, 300));
    return wide.className;
  });
  if (last !== null) expect(last.split(" ")).not.toContain("cut-right");
  if (last !== null) expect(last.split(" ")).toContain("cut-left");
});

test("what is raised is raised", { timeout: 30_000 }, async () => {
  const page = await open();
  const texts = await page.locator("p, figcaption, dd, h2, li, td, th").allTextContents();
  expect(texts.filter((text) => /\^[{\d¼½]/.test(text))).toEqual([]);
  const wanted = html.match(/\^\{[^{}]*\}(?=[^"]*")/g)?.length ?? 0;
  if (wanted && /"statement":"[^"]*\^\{/.test(html))
    expect(await page.locator("sup").count()).toBeGreaterThan(0);
  await page.context().close();
});

test("what made the report is said, all of it at the end", { timeout: 30_000 }, async () => {
  const page = await open();
  const run = JSON.parse(/id="largo-run">(.*?)<\/script>/s.exec(html)![1]!);
  const head = (await page.locator("header").textContent()) ?? "";
  expect(head).toContain(data.version);
  if (run) {
    const about = (await page.locator("#about").textContent()) ?? "";
    for (const key of ["version", "commit", "compiler", "machine"])
      if (run[key]) expect(about).toContain(run[key]);
    expect(head).toContain(run.date.slice(0, 10));
    if (run.commit) expect(head).toContain(run.commit.slice(0, 10));
  }
  for (const { label, value } of data.about ?? []) {
    expect(await page.locator("#about").textContent()).toContain(`${label}${value}`);
    expect(head).not.toContain(value);
  }
  if (run || data.about?.length)
    expect(await page.locator("main > :last-child").getAttribute("id")).toBe("about");
  await page.context().close();
});

const choosing = figures.filter((figure) => figure.views?.length);
test.runIf(choosing.length)(
  "what is on the x axis can be chosen, for all figures",
  { timeout: 60_000 },
  async () => {
    const page = await open();
    const root = (figure: Figure) => page.locator(`[id="figure-${figure.id}"]`);
    const label = (figure: Figure) => root(figure).locator(".chart").first().getAttribute("aria-label");
    const [first] = choosing;
    const select = root(first!).locator("select");
    const views = [first!, ...first!.views!];
    expect(await select.locator("option").allTextContents()).toEqual(views.map((view) => view.x));
    for (const view of [...views].reverse()) {
      await select.selectOption(view.x!);
      for (const figure of choosing) {
        const same = [figure, ...figure.views!].find((one) => one.x === view.x)!;
        await expect.poll(() => label(figure)).toContain(`against ${same.panels[0]!.x_label} `);
        await root(figure).scrollIntoViewIfNeeded();
        await expect.poll(() => root(figure).locator("[data-mark=line] path").count()).toBeGreaterThan(0);
        expect(await root(figure).locator("figcaption").textContent()).toContain(same.caption);
        expect(await root(figure).locator("select").inputValue()).toBe(view.x);
      }
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        root(first!).locator(".tools button", { hasText: "CSV" }).click(),
      ]);
      const csv = readFileSync(await download.path(), "utf8")
        .trimEnd()
        .split("\n");
      const frames = view.slider?.panels ?? [view.panels];
      expect(csv.length).toBe(frames.flat().flatMap((p) => p.curves.flatMap((c) => c.x)).length + 1);
      if (shots) await root(first!).screenshot({ path: `${shots}/against-${view.x}.png` });
    }
    await page.context().close();
  },
);

test("tables have a name, those without a title no full stop", { timeout: 60_000 }, async () => {
  const page = await open();
  const captions = await page.locator(".table-figure figcaption").allTextContents();
  const titles = sections.flatMap((section) => section.tables ?? []).map((table) => table.title);
  const plain = (title: string) => title.replace(/\^\{([^{}]*)\}/g, "$1"); // raised
  expect(captions).toEqual(titles.map((title, i) => `Table ${i + 1}${title && `. ${plain(title)}`}`));
  await page.context().close();
});

test("it opens in under a second", { timeout: 120_000 }, async () => {
  const walls = await openingTimes(browser, url, 1000);
  console.log(`ready after ${walls.join(", ")} ms; ${Math.round(html.length / 1000)} kB`);
  expect(Math.min(...walls)).toBeLessThan(1000);
  expect(html.length).toBeLessThan(3e6);
});

forAll(figures, "the pointer shows the values of the nearest point", 120_000, async (page, figure) => {
  const chart = page.locator(`[id="figure-${figure.id}"] .chart svg`).first();
  await chart.scrollIntoViewIfNeeded();
  const mark = chart.locator("[data-mark=dot] path, [data-mark=dot] circle, [data-mark=line] path").first();
  const place = await mark.evaluate((element) => {
    // The first point of a line, the middle of a marker.
    const path = element as SVGPathElement;
    const line = path.parentElement!.getAttribute("data-mark") === "line";
    const box = path.getBoundingClientRect();
    if (!line) return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const start = path.getPointAtLength(0).matrixTransform(path.getScreenCTM()!);
    return { x: start.x, y: start.y };
  });
  await page.mouse.move(place.x + 3, place.y + 2);
  await page.mouse.move(place.x + 1, place.y);
  const tip = chart.locator(".tip text");
  await expect.poll(() => tip.count(), { timeout: 5000 }).toBeGreaterThan(0);
  const panel = (figure.slider?.panels[0] ?? figure.panels)[0]!;
  const text = ((await tip.first().textContent()) ?? "").replace(/\u200b/g, " "); // where lines end
  expect(text).toContain(`${panel.x_label || "x"}:`);
  expect(text).toContain(`${panel.y_label || "y"}:`);
  expect(text).toMatch(/: −?[\d∞]/);
  if (shots) await page.screenshot({ path: `${shots}/hover-${figure.id}.png` });
});

const sliding = figures.filter((figure) => (figure.slider?.values.length ?? 0) > 1);
forAll(sliding, "sliders move the curves by keyboard, axes stay", 60_000, async (page, figure) => {
  const root = page.locator(`[id="figure-${figure.id}"]`);
  const input = root.locator("input[type=range]");
  const seen = () =>
    root.evaluate((element) => ({
      curves: [
        ...element.querySelectorAll("[data-mark=line] path, [data-mark=dot] path, [data-mark=dot] circle"),
      ]
        .map((p) => p.outerHTML)
        .join(),
      ticks: [...element.querySelectorAll(".tick-label text")].map((t) => t.outerHTML).join(),
      value: element.querySelector("output")!.textContent,
    }));
  await input.focus();
  await page.keyboard.press("Home");
  const first = await seen();
  await page.keyboard.press("ArrowRight");
  const second = await seen();
  await page.keyboard.press("End");
  const last = await seen();
  expect(new Set([first.value, second.value, last.value]).size).toBe(
    Math.min(3, figure.slider!.values.length),
  );
  expect(last.curves).not.toBe(first.curves);
  expect(last.ticks).toBe(first.ticks);
  expect(await input.getAttribute("aria-valuetext")).toContain(`${figure.slider!.label} = `);
});

forAll(
  figures,
  "figures come as SVG, PNG and CSV",
  120_000,
  async (page, figure) => {
    const save = async (kind: string) => {
      const button = page.locator(`[id="figure-${figure.id}"] .tools button`, { hasText: kind });
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      expect(download.suggestedFilename()).toBe(`${figure.id}.${kind.toLowerCase()}`);
      if (shots) await download.saveAs(`${shots}/${download.suggestedFilename()}`);
      return readFileSync(await download.path());
    };
    const svg = (await save("SVG")).toString("utf8");
    const root = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return [parsed.documentElement.tagName, parsed.querySelector("parsererror")?.textContent ?? null];
    }, svg);
    expect(root).toEqual(["svg", null]);
    expect(svg).not.toMatch(/var\(|NaN|https?:\/\/(?!www\.w3\.org)/);
    expect(svg).not.toContain("currentColor"); // which is not black everywhere

    const png = await save("PNG");
    expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    const width = Number(/width="(\d+)"/.exec(svg)![1]);
    expect(png.readUInt32BE(16)).toBe(2 * width);
    expect(png.length).toBeGreaterThan(5000);

    const csv = (await save("CSV")).toString("utf8").trimEnd().split("\n");
    const frames = figure.slider?.panels ?? [figure.panels];
    const points = frames.flat().flatMap((panel) => panel.curves.flatMap((curve) => curve.x));
    expect(csv[0]).toMatch(/^(.*,)?panel,label,x,y,low,high$/);
    expect(csv.length).toBe(points.length + 1);
  },
  "dark",
);

test("the keyboard reaches everything that can be used", { timeout: 60_000 }, async () => {
  const page = await open();
  const all = "a[href], button, summary, input, select";
  const wanted = await page.locator(all).count();
  const reached = new Set<number>();
  for (let i = 0; i < wanted + 40; ++i) {
    await page.keyboard.press("Tab");
    const [at, visible] = await page.evaluate((selector) => {
      const element = document.activeElement!;
      const outline = getComputedStyle(element).outlineStyle;
      return [[...document.querySelectorAll(selector)].indexOf(element), outline !== "none"] as const;
    }, all);
    if (at < 0) continue;
    expect(visible).toBe(true);
    reached.add(at);
    if (reached.size === wanted) break;
  }
  expect(reached.size).toBe(wanted);
  await page.context().close();
});

const grids = sections.flatMap((section) => section.grids ?? []);
forAll(
  grids,
  "a grid is coloured by what is chosen, and a cell shows its values",
  60_000,
  async (page, grid) => {
    const figure = page.locator(`[id="figure-${grid.id}"]`);
    const cells = figure.locator("table.grid tbody td");
    expect(await cells.count()).toBe(grid.rows.length * grid.columns.length);
    const colors = () => cells.evaluateAll((all) => all.map((one) => (one as HTMLElement).style.background));
    const first = await colors();
    for (const [q, { label, values }] of grid.quantities.entries()) {
      await figure.locator("select").first().selectOption({ label });
      const painted = await colors();
      // As many colours as values can have: the same value has the same colour, no value has none.
      const flat = values.flat();
      flat.forEach((value, i) => expect(painted[i] === "", `${label} ${i}`).toBe(value === null));
      expect(painted[flat.indexOf(flat[0]!)]).toBe(painted[0]);
      if (q && new Set(flat).size > 1) expect(painted).not.toEqual(first);
    }
    const [i, j] = [grid.rows.length - 1, grid.columns.length - 1];
    await cells.last().click();
    const head = `${grid.row} ${grid.rows[i]}, ${grid.column} ${grid.columns[j]}`;
    expect(await figure.locator(".chosen h4").textContent()).toBe(head);
    expect(await figure.locator(".chosen > .scroller tbody tr").count()).toBe(grid.quantities.length);
    const views = grid.details?.[i]?.[j] ?? [];
    await expect
      .poll(() => figure.locator(".chosen .chart svg").count(), { timeout: 10_000 })
      .toBe(views.reduce((sum, view) => sum + view.panels.length, 0));
    await page.keyboard.press("ArrowLeft");
    expect(await figure.locator(".chosen h4").textContent()).not.toBe(head);
    expect(await figure.locator('[aria-selected="true"]').count()).toBe(1);
  },
);

test("the theme can be changed, and headings are in order", { timeout: 30_000 }, async () => {
  const page = await open("light");
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const before = await paper();
  await page.locator(".theme").click();
  expect(await paper()).not.toBe(before);
  await page.locator(".theme").click();
  expect(await paper()).toBe(before);
  const levels = await page.evaluate(() =>
    [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1])),
  );
  expect(levels.filter((level) => level === 1)).toHaveLength(1);
  levels.slice(1).forEach((level, i) => expect(level - levels[i]!).toBeLessThanOrEqual(1));
  expect(await page.locator("main").count()).toBe(1);
  expect(await page.locator(".chart:not([aria-label])").count()).toBe(0);
  await page.context().close();
});

test("links lead to their sections, also from outside", { timeout: 30_000 }, async () => {
  const page = await open();
  const last = `claim-${sections.at(-1)!.id}`;
  const top = () => page.locator(`[id="${last}"] h2`).evaluate((h) => h.getBoundingClientRect().top);
  await page.locator(`#summary a[href="#${last}"]`).click();
  await expect.poll(async () => (await top()) >= 0 && (await top()) < 300).toBe(true);
  await page.goto("about:blank");
  await page.goto(`${url}#${last}`);
  await expect.poll(async () => (await top()) >= 0 && (await top()) < 300, { timeout: 5000 }).toBe(true);
  await page.waitForTimeout(1500); // and stays there while figures are drawn
  expect(Math.abs((await top()) - 150)).toBeLessThan(150);
  await page.context().close();
});

test("a command can be copied", { timeout: 30_000 }, async () => {
  const page = await open();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("header .command button").click();
  await expect.poll(() => page.locator("header .said").textContent()).toBe("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(data.command);
  await page.context().close();
});

test("it prints, long tables too", { timeout: 60_000 }, async () => {
  const page = await open("dark");
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const rows = await page.evaluate(() =>
    [...document.querySelectorAll(".table-figure")].map(
      (figure) => [...figure.querySelectorAll("tbody tr")].filter((row) => row.checkVisibility()).length,
    ),
  );
  expect(rows).toEqual(sections.flatMap((section) => section.tables ?? []).map((table) => table.rows.length));
  const gaps = await page.evaluate(() =>
    [...document.querySelectorAll(".chart")].map(
      (box) => box.getBoundingClientRect().height - box.firstElementChild!.getBoundingClientRect().height,
    ),
  );
  expect(Math.max(0, ...gaps.map(Math.abs))).toBeLessThan(2);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  expect(await page.locator("details[open]").count()).toBe(0);
  const pdf = await page.pdf({ format: "A4", path: shots ? `${shots}/print.pdf` : undefined });
  expect(pdf.length).toBeGreaterThan(10_000);
  await page.context().close();
});

test("a page without data, or with wrong data, says so", { timeout: 30_000 }, async () => {
  const template = readFileSync(new URL("../../dist/report.html", import.meta.url), "utf8");
  const page = await browser.newPage();
  for (const [json, text] of [
    ["null", "fills it with the data"],
    ['{"kind":"study","title":3}', "title is 3; it must be a text."],
    ["{", "the data is not JSON"],
  ]) {
    await page.setContent(template.replace(">null</script>", () => `>${json}</script>`));
    await expect.poll(() => page.locator("[role=alert]").textContent()).toContain(text);
  }
  await page.close();
});

test("no console error, no request but for the file itself", () => expect(troubles).toEqual([]));
