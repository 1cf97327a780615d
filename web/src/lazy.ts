// Work that waits until its element comes near the screen, or until there is nothing else to do: a report
// with many figures opens as fast as one with few.

const waiting = new Map<Element, () => void>();
const NEAR = "600px";
let done: (() => void) | null = null;

const observer =
  typeof IntersectionObserver === "undefined"
    ? null
    : new IntersectionObserver(
        (entries) => entries.forEach((entry) => entry.isIntersecting && run(entry.target)),
        { rootMargin: NEAR },
      );

function run(element: Element): void {
  const act = waiting.get(element);
  waiting.delete(element);
  observer?.unobserve(element);
  act?.();
}

function later(act: () => void): void {
  if (typeof requestIdleCallback === "function") requestIdleCallback(act, { timeout: 2000 });
  else setTimeout(act, 50);
}

function runNext(): void {
  const [next] = waiting.keys();
  if (next) run(next);
  if (waiting.size) later(runNext);
  else done?.();
}

/** Calls `act` once. */
export function whenNear(element: Element, act: () => void): void {
  if (waiting.size === 0) later(runNext);
  waiting.set(element, act);
  observer?.observe(element);
}

/** What still waits, at once: for printing. */
export function runAll(): void {
  for (const element of [...waiting.keys()]) run(element);
}

/** Calls `act` when nothing waits any more. */
export function whenDone(act: () => void): void {
  done = act;
  if (waiting.size === 0) later(act);
}
