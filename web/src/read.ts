// How the members of a JSON value are read: each reader checks what it gets and names the place of a mistake.
import type { Cell } from "./types";

/** Data that is not as docs/report.md says. */
export class DataError extends Error {}

type Json = Record<string, unknown>;

export function fail(path: string, requirement: string, value: unknown): never {
  const shown = value === undefined ? "is missing" : `is ${JSON.stringify(value)?.slice(0, 60)}`;
  throw new DataError(`${path || "the data"} ${shown}; it must be ${requirement}`);
}

export function object(value: unknown, path: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) fail(path, "an object", value);
  return value as Json;
}

/** The member `key` of `from` where it is there (null counts as missing), read by `read`. */
export function optional<T>(
  from: Json,
  key: string,
  path: string,
  read: (value: unknown, path: string) => T,
) {
  const value = from[key];
  return value === undefined || value === null ? undefined : read(value, path ? `${path}.${key}` : key);
}

export function text(value: unknown, path: string): string {
  if (typeof value !== "string") fail(path, "a text", value);
  return value;
}

export function flag(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") fail(path, "true or false", value);
  return value;
}

/** A number; "inf" and "-inf" are the infinite ones. */
export function number(value: unknown, path: string): number {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return fail(path, 'a number, "inf" or "-inf"', value);
}

export function cell(value: unknown, path: string): Cell {
  if (value === null) return null;
  if (typeof value === "string" && value !== "inf" && value !== "-inf") return value;
  return number(value, path);
}

export function list<T>(value: unknown, path: string, read: (value: unknown, path: string) => T): T[] {
  if (!Array.isArray(value)) fail(path, "a list", value);
  return value.map((item, i) => read(item, `${path}[${i}]`));
}

export function choice<T extends string>(options: readonly T[]) {
  return (value: unknown, path: string): T => {
    if (!options.includes(value as T)) fail(path, `one of ${options.map((o) => `"${o}"`).join(", ")}`, value);
    return value as T;
  };
}
