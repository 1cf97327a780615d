// The colours of curves: one palette on the page, in its files and in the printed figures, and good eyes are not
// needed to tell them apart.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { COLORS, CURVES } from "../../src/palette";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const css = read("../../src/style.css");
const [lightCss = "", darkCss = ""] = css.split("@media screen");
const variables = (text: string, name: string) =>
  Array.from({ length: COLORS }, (_, i) =>
    new RegExp(`--${name}-${i}: (#\\w{6});`).exec(text)![1]!.toUpperCase(),
  );
const paper = (text: string) => /--paper: (#\w{6});/.exec(text)![1]!;

type Triple = [number, number, number];
const linear = (hex: string) =>
  [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)) as Triple;
const times = (m: Triple[], v: Triple) =>
  m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Triple;

function contrast(one: string, other: string): number {
  const light = (hex: string) => times([[0.2126, 0.7152, 0.0722]], linear(hex))[0];
  const [a, b] = [light(one), light(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

// What those see who lack a kind of cone (Machado, Oliveira and Fernandes 2009, severity 1), as linear RGB.
const EYES: Record<string, Triple[]> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], // prettier-ignore
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]], // prettier-ignore
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]], // prettier-ignore
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]], // prettier-ignore
};

// Björn Ottosson's OKLab, in which distances are about what the eye makes of them; 0.02 can just be seen.
function oklab(rgb: Triple): Triple {
  const cones = times(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], // prettier-ignore
    rgb.map((v) => Math.min(Math.max(v, 0), 1)) as Triple,
  ).map(Math.cbrt) as Triple;
  return times(
    [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], // prettier-ignore
    cones,
  );
}

function closest(colors: string[], eye: Triple[]): number {
  const seen = colors.map((hex) => oklab(times(eye, linear(hex))));
  return Math.min(
    ...seen.flatMap((a, i) => seen.slice(0, i).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]))),
  );
}

test("the page, its files and the printed figures have the same colours", () => {
  expect(variables(lightCss, "curve")).toEqual(CURVES);
  const source = read("../../../src/report/svg_curves.cpp");
  const printed = /kPalette = \{([^}]*)\}/.exec(source)![1]!.match(/#\w{6}/g);
  expect(printed).toEqual(CURVES);
});

describe.each([
  ["light", lightCss],
  ["dark", darkCss],
])("%s", (_, text) => {
  const curves = variables(text, "curve");
  test.each(curves)("%s has a contrast of 3 on the paper", (color) =>
    expect(contrast(color, paper(text))).toBeGreaterThanOrEqual(3),
  );
  // Four times what can just be seen.
  test.each(Object.entries(EYES))("any two differ for %s eyes", (_, eye) =>
    expect(closest(curves, eye)).toBeGreaterThan(0.08),
  );
});
