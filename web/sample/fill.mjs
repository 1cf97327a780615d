// Puts data into the page, as largo does: node sample/fill.mjs [DATA.json [OUT.html [TEMPLATE.html]]]
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const [data = here("data.json"), out = here("report.html"), template = here("../dist/report.html")] =
  process.argv.slice(2);
const place = '<script type="application/json" id="largo-data">null</script>';

const parts = readFileSync(template, "utf8").split(place);
if (parts.length !== 2) throw new Error(`${template} has ${parts.length - 1} places for data, not one`);
const json = JSON.stringify(JSON.parse(readFileSync(data, "utf8"))).replaceAll("</", "<\\/");
writeFileSync(out, parts.join(place.replace("null", () => json)));
console.log(out);
