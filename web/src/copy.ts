// A command line with a button that copies it.
import { button, h } from "./dom";

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages from disk are not trusted with the clipboard everywhere; a selection may be copied all the same.
  const area = h("textarea", { "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("no clipboard");
}

export function commandLine(command: string): HTMLElement {
  const said = h("span", { class: "said", role: "status" });
  const copy = button("Copy", `Copy the command ${command}`, () => {
    copyText(command).then(
      () => said.replaceChildren("Copied"),
      () => said.replaceChildren("Select the text to copy it"),
    );
    setTimeout(() => said.replaceChildren(), 4000);
  });
  return h("div", { class: "command" }, h("code", {}, command), copy, said);
}
