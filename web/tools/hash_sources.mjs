// Writes dist/sources.sha256: the hashes of the page and of all it is made from, in the format of sha256sum.
// scripts/check_web compares, without Node, to see whether the page is up to date.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const folder = process.env.OUT ?? "dist";
const sources = readdirSync("src").map((name) => `src/${name}`);
const settings = [
  ".npmrc",
  "index.html",
  "package-lock.json",
  "package.json",
  "tsconfig.json",
  "vite.config.ts",
];
const hash = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");

const lines = [...settings, ...sources].sort().map((file) => `${hash(file)}  ${file}\n`);
lines.push(`${hash(`${folder}/report.html`)}  dist/report.html\n`);
writeFileSync(`${folder}/sources.sha256`, lines.join(""));
