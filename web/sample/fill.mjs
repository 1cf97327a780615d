// Puts data into the page, as largo does: node sample/fill.mjs [DATA.json [OUT.html [TEMPLATE.html [RUN.json]]]]
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const [data, out, template, run] = ["data.json", "report.html", "../dist/report.html", "run.json"].map(
  (name, i) => process.argv[i + 2] ?? here(name),
);

function put(page, id, file) {
  const place = `<script type="application/json" id="${id}">null</script>`;
  const parts = page.split(place);
  if (parts.length !== 2) throw new Error(`${template} has ${parts.length - 1} places for ${id}, not one`);
  const json = JSON.stringify(JSON.parse(readFileSync(file, "utf8"))).replaceAll("</", "<\\/");
  return parts.join(place.replace("null", () => json));
}

writeFileSync(out, put(put(readFileSync(template, "utf8"), "largo-run", run), "largo-data", data));
console.log(out);
