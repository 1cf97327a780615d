// A figure as a file: SVG, PNG. Files have the light colours whatever the theme is, and a fixed size.
import { drawPanel, FONT, FONT_SIZE } from "./chart";
import { svg } from "./dom";
import { drawKey, isShared, KEY_WIDTH, legendEntries, type Entry } from "./legend";
import { fileInks } from "./palette";
import type { Axes } from "./pieces";
import type { Panel } from "./types";

const PANEL = { width: 400, height: 290 };
const SINGLE = { width: 560, height: 380 };
const TITLE = 26;
const ROW = 20;
const MARGIN = 8; // around the image
const GAP = 8; // above a legend
const PNG_SCALE = 2;
const TEXT = { "font-family": FONT, "font-size": FONT_SIZE };

export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const saveText = (name: string, text: string, type: string) =>
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));

/** The legend in rows of at most `width` pixels, and how high it is. */
function drawLegend(entries: Entry[], left: number, top: number, width: number): [SVGElement[], number] {
  let [x, y] = [0, 0];
  const out: SVGElement[] = [];
  for (const entry of entries) {
    const { label } = entry.curve;
    const size = KEY_WIDTH + 8 + label.length * 6.6 + 22;
    if (x > 0 && x + size > width) [x, y] = [0, y + ROW];
    const middle = top + GAP + y + ROW / 2;
    out.push(drawKey(entry, fileInks, left + x, middle));
    out.push(svg("text", { x: left + x + KEY_WIDTH + 8, y: middle, dy: "0.35em" }, label));
    x += size;
  }
  return [out, out.length ? GAP + y + ROW : 0];
}

/** The panels side by side with titles and legend, as one SVG without style sheets. */
export function composeSvg(panels: Panel[], axes: Axes[], caption: string): SVGSVGElement {
  const { width, height } = panels.length === 1 ? SINGLE : PANEL;
  const columns = Math.min(panels.length, 3);
  const shared = isShared(panels);
  const titled = panels.some((panel) => panel.title) ? TITLE : 0;
  const parts: Element[] = [];
  let top = panels.some((panel) => panel.title) ? 0 : MARGIN;
  for (let start = 0; start < panels.length; start += columns) {
    let below = 0;
    panels.slice(start, start + columns).forEach((panel, i) => {
      const left = i * width + MARGIN;
      const options = { width, height, axes: axes[start + i]!, inks: fileInks, figure: panels, hover: false };
      const chart = drawPanel(panel, options);
      chart.querySelector("style")?.remove();
      for (const name of ["class", "style", "fill"]) chart.removeAttribute(name);
      for (const [name, value] of Object.entries({ x: left, y: top + titled, fill: fileInks.ink, ...TEXT })) {
        chart.setAttribute(name, String(value));
      }
      parts.push(chart);
      const middle = { x: left + width / 2 + 20, y: top + 17, "text-anchor": "middle", "font-size": 13 };
      if (panel.title) parts.push(svg("text", middle, panel.title));
      if (shared) return;
      const [items, size] = drawLegend(
        legendEntries([panel], panels),
        left + 20,
        top + titled + height,
        width - 20,
      );
      parts.push(...items);
      below = Math.max(below, size);
    });
    top += titled + height + below;
  }
  if (shared) {
    const [items, size] = drawLegend(legendEntries(panels), 20, top, columns * width - 20);
    parts.push(...items);
    top += size;
  }
  const size = { width: columns * width + 2 * MARGIN, height: top + MARGIN };
  return svg(
    "svg",
    {
      ...size,
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${size.width} ${size.height}`,
      ...TEXT,
      color: fileInks.ink,
      fill: fileInks.ink,
    },
    svg("title", {}, caption),
    svg("rect", { ...size, fill: "#ffffff" }),
    ...parts,
  );
}

export function svgText(image: SVGSVGElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(image)}\n`;
}

/** The image in pixels, twice as many each way as the SVG has. */
export async function toPng(image: SVGSVGElement): Promise<Blob> {
  const picture = new Image();
  // decode() would do, but in Chromium it waits for a frame, which a page at rest need not draw.
  const loaded = new Promise((done, failed) => {
    picture.onload = done;
    picture.onerror = () => failed(new Error("this browser could not draw the SVG"));
  });
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(image))}`;
  await loaded;
  const canvas = document.createElement("canvas");
  canvas.width = Number(image.getAttribute("width")) * PNG_SCALE;
  canvas.height = Number(image.getAttribute("height")) * PNG_SCALE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  context.scale(PNG_SCALE, PNG_SCALE);
  context.drawImage(picture, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("this browser could not make the PNG");
  return blob;
}
