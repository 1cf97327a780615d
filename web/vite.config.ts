import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** The licences of what is in the page, as they ask for, in a comment at its end. */
function licences(): Plugin {
  const folders = new Set<string>();
  return {
    name: "licences",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const id of this.getModuleIds()) {
          const folder = /^.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(id)?.[0];
          if (folder && this.getModuleInfo(id)?.isIncluded) folders.add(folder);
        }
        const names = new Map<string, string[]>();
        for (const folder of [...folders].sort()) {
          const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
          const text = file ? readFileSync(`${folder}/${file}`, "utf8").trim() : "see its package";
          names.set(text, [...(names.get(text) ?? []), folder.replace(/^.*\/node_modules\//, "")]);
        }
        const notices = [...names].map(([text, packages]) => `${packages.join(", ")}:\n\n${text}`);
        const comment = `This page contains\n\n${notices.join("\n\n")}`.replaceAll("--", "- -");
        for (const page of Object.values(bundle)) {
          if (page.type === "asset" && page.fileName.endsWith(".html"))
            page.source = `${page.source}<!--\n${comment}\n-->\n`;
        }
      },
    },
  };
}

const PLACE = '<script type="application/json" id="largo-data">null</script>';

/** Calls the page what it is, once it has what largo looks for. */
const checked: Plugin = {
  name: "checked",
  enforce: "post",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") this.error("there is no page");
      const places = String(page.source).split(PLACE).length - 1;
      if (places !== 1) this.error(`the page has ${places} places for data, not one`);
      page.fileName = "report.html";
    },
  },
};

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), licences(), checked],
  build: {
    outDir: process.env.OUT ?? "dist",
    emptyOutDir: true,
    target: "es2021",
    reportCompressedSize: false,
  },
});
