// Light or dark: as the system says, until the reader says otherwise (until the page is closed).
import { h } from "./dom";

export function themeToggle(): HTMLElement {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const toggle = h("button", { type: "button", class: "theme" });
  let chosen: boolean | null = null;
  const show = () => {
    const dark = chosen ?? system.matches;
    root.dataset.theme = dark ? "dark" : "light";
    toggle.replaceChildren(dark ? "Light theme" : "Dark theme");
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    show();
  });
  system.addEventListener("change", show);
  show();
  return toggle;
}
