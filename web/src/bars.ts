// Bars stand on zero around evenly spaced x, and touch.

/** 1 for a single bar. */
export function barWidth(x: number[]): number {
  return x.length < 2 ? 1 : (x.at(-1)! - x[0]!) / (x.length - 1);
}

/** The ends of bar i on the x axis. */
export function barEnds(x: number[], i: number): [number, number] {
  const half = barWidth(x) / 2;
  return [x[i]! - half, x[i]! + half];
}
