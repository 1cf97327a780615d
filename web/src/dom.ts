// Elements in one expression.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined>;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Plain text in which x^{y} stands for a raised y. */
export function raised(text: string): (string | HTMLElement)[] {
  const parts = text.split(/\^\{([^{}]*)\}/);
  return parts.map((part, i) => (i % 2 ? h("sup", {}, part) : part));
}

/** Plain text as paragraphs, which blank lines separate. */
export function paragraphs(text: string, className?: string): HTMLElement[] {
  return text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => h("p", { class: className }, ...raised(part.trim())));
}

export function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const out = h("button", { type: "button", "aria-label": label === text ? undefined : label }, text);
  out.addEventListener("click", act);
  return out;
}

/**
 * `element` in a box that says so where, and only where, it is wider than its place: its cut edge fades, a line
 * below tells of it, and the keyboard can scroll it.
 */
export function scrollable(element: HTMLElement, label: string): HTMLElement {
  const hint = h("p", { class: "scroll-hint", "aria-hidden": "true" }, "Scroll sideways to see the rest →");
  const box = h("div", { class: "scroller" }, element, hint);
  const cut = () => {
    const { scrollLeft, scrollWidth, clientWidth } = element;
    element.classList.toggle("cut-left", scrollLeft > 1);
    element.classList.toggle("cut-right", scrollLeft + clientWidth < scrollWidth - 1);
  };
  const update = () => {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element;
    const wider = scrollWidth > clientWidth + 1;
    const larger = wider || scrollHeight > clientHeight;
    box.classList.toggle("scrolls", wider);
    cut();
    for (const [name, value] of [
      ["tabindex", "0"],
      ["role", "group"],
      ["aria-label", label],
    ] as const) {
      if (larger) element.setAttribute(name, value);
      else element.removeAttribute(name);
    }
  };
  element.addEventListener("scroll", cut, { passive: true });
  new ResizeObserver(update).observe(element);
  return box;
}
