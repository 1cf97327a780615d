import { expect, test } from "vitest";
import { readableDate, runFacts, runSummary } from "../../src/about";
import { readReport, readRun } from "../../src/data";

const report = readReport(
  '{"kind":"study","title":"t","version":"0.6.0","command":"c","seed":3,"sections":[],"about":[{"label":"Content","value":"abc"}]}',
)!;
const whole = {
  version: "0.6.0",
  commit: "0123456789abcdef0123456789abcdef01234567",
  modified: true,
  compiler: "gcc 12.2.0",
  date: "2026-11-16T14:03:27Z",
  machine: "a processor, 2 cores, Linux x86_64",
  simd: "AVX2",
  threads: 1,
  processes: 3,
  device: "cpu",
};

test("what made the report is told on top in short, and at the end in full", () => {
  const run = readRun(JSON.stringify(whole))!;
  expect(runSummary(report, run).map(({ value }) => value)).toEqual([
    "0.6.0 (0123456789, modified)",
    "3",
    "2026-11-16 14:03 UTC",
  ]);
  const facts = Object.fromEntries(runFacts(run).map(({ label, value }) => [label, value]));
  expect(facts.Commit).toBe(`${whole.commit}, with changes`);
  expect(facts["Ran on"]).toBe("1 thread, 3 processes, SIMD AVX2, device cpu");
  expect(facts.Machine).toBe(whole.machine);
});

test("what is not known is not told", () => {
  expect(readRun("null")).toBeNull();
  expect(runSummary(report, null).map(({ label }) => label)).toEqual(["largo", "Seed"]);
  expect(runFacts(readRun('{"version":"0.6.0","date":"1970-01-01T00:00:00Z"}')!)).toEqual([
    { label: "Date", value: "1970-01-01 00:00 UTC" },
    { label: "Version", value: "largo 0.6.0" },
  ]);
  expect(readableDate("some day")).toBe("some day");
  expect(() => readRun('{"threads":"two"}')).toThrow("run.threads");
  expect(report.about).toEqual([{ label: "Content", value: "abc" }]);
});
