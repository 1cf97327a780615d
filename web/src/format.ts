// Numbers as text: for readers (3.1×10⁻⁹), for axes (10^-9, whose power is raised later) and for files.

const MINUS = "−";
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const withMinus = (text: string) => text.replace("-", MINUS);

export function superscript(exponent: number): string {
  return String(exponent)
    .replace(/\d/g, (d) => RAISED[Number(d)]!)
    .replace("-", "⁻");
}

/** Splits x into m and e with x = m·10^e, m rounded to `digits` significant digits (1 <= |m| < 10). */
function scientific(x: number, digits: number): [mantissa: string, exponent: number] {
  const [mantissa = "", exponent = "0"] = x.toExponential(digits - 1).split("e");
  return [mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa, Number(exponent)];
}

const COUNTED = 1e9; // whole numbers below may be lengths, of which a token less is another

/**
 * For readers: whole numbers in full below 10⁶, and below 10⁹ where digits would be lost; others with `digits`
 * significant digits.
 */
export function formatNumber(x: number, digits = 5): string {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  if (x === 0) return "0";
  const size = Math.abs(x);
  const [mantissa, exponent] = scientific(x, digits);
  const rounded = Number(`${mantissa}e${exponent}`) !== x;
  if (Number.isInteger(x) && size < (rounded ? COUNTED : 1e6)) return withMinus(String(x));
  if (exponent >= -3 && exponent < 6) return withMinus(String(Number(`${mantissa}e${exponent}`)));
  const power = `10${superscript(exponent)}`;
  if (mantissa === "1" || mantissa === "-1") return withMinus(mantissa.replace("1", power));
  return `${withMinus(mantissa)}×${power}`;
}

/** A cell of a table for readers; an empty cell is a dash. */
export function formatCell(cell: number | string | null): string {
  if (cell === null) return "–";
  return typeof cell === "number" ? formatNumber(cell) : cell;
}

/** For files: the shortest decimal that reads back as the same double. */
export function exactNumber(x: number): string {
  if (Number.isFinite(x)) return String(x);
  return x > 0 ? "inf" : "-inf";
}

/** The label of a tick at x. A power of ten is marked with ^, as in 10^-3 and 2×10^7. */
export function tickLabel(x: number, power = false): string {
  if (x === 0) return "0";
  const [mantissa, exponent] = scientific(x, 6);
  const text = withMinus(mantissa);
  if (power && mantissa === "1") return `10^${withMinus(String(exponent))}`;
  if (exponent >= -3 && exponent <= 4) return withMinus(String(Number(`${mantissa}e${exponent}`)));
  const factor = `10^${withMinus(String(exponent))}`;
  return mantissa === "1" ? factor : `${text}×${factor}`;
}

/** A tick label in two: what stands on the line, and the raised exponent ("" where there is none). */
export function tickParts(label: string): [base: string, power: string] {
  const at = label.indexOf("^");
  return at < 0 ? [label, ""] : [label.slice(0, at), label.slice(at + 1)];
}
