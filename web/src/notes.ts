// Where the notes of a panel stand: beside their point, where they cover no other note and no curve.

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Pixel {
  x: number;
  y: number;
}

export interface PlacedNote {
  /** The middle of the left end of the text. */
  x: number;
  y: number;
  box: Box;
}

const HEIGHT = 14;
const GAP = 8;
const REACH = 20; // places that are tried above a point, and below it
const SAMPLE = 3; // pixels between the samples of a line

/** Points every few pixels along the polyline. */
export function samples(line: Pixel[]): Pixel[] {
  return line.flatMap((end, i) => {
    const from = line[Math.max(0, i - 1)]!;
    const steps = Math.max(1, Math.ceil(Math.hypot(end.x - from.x, end.y - from.y) / SAMPLE));
    return Array.from({ length: steps }, (_, k) => {
      const t = (k + 1) / steps;
      return { x: from.x + t * (end.x - from.x), y: from.y + t * (end.y - from.y) };
    });
  });
}

/** What a marker covers. */
export const around = ({ x, y }: Pixel): Pixel[] =>
  [-4, 0, 4].flatMap((dx) => [-4, 0, 4].map((dy) => ({ x: x + dx, y: y + dy })));

const overlaps = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** The best of some places around `at` for a text of `width` pixels inside `frame`. */
export function placeNote(at: Pixel, width: number, frame: Box, ink: Pixel[], taken: Box[]): PlacedNote {
  let best: PlacedNote | null = null;
  let least = Infinity;
  const rises = Array.from(
    { length: 2 * REACH },
    (_, i) => (i % 2 ? 1 : -1) * (1.1 + 0.4 * Math.floor(i / 2)),
  );
  for (const rise of [0, ...rises]) {
    for (const side of [0, -1, -0.5]) {
      const wanted = at.x + (side === -0.5 ? 0 : GAP * (1 + 2 * side)) + side * width;
      const left = Math.min(Math.max(wanted, frame.left + 2), frame.right - width - 2);
      const y = Math.min(Math.max(at.y + rise * HEIGHT, frame.top + HEIGHT / 2), frame.bottom - HEIGHT / 2);
      const box = { left, top: y - HEIGHT / 2, right: left + width, bottom: y + HEIGHT / 2 };
      const covered = ink.filter(
        (p) => p.x > box.left - 2 && p.x < box.right + 2 && p.y > box.top - 1 && p.y < box.bottom + 1,
      ).length;
      const away = Math.abs(left - wanted) + Math.abs(rise) * 2 + Math.abs(side) * 2;
      const cost = covered * 50 + away + 1000 * taken.filter((other) => overlaps(box, other)).length;
      if (cost >= least) continue;
      least = cost;
      best = { x: left, y, box };
    }
  }
  return best!;
}
