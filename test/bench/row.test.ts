import { expect, it } from "vitest";
import { tableOf } from "./row.ts";

const requests = { all: 660, lists: 600, writes: 20, events: 20 };
const cost = { wallMs: 12_456, cpuMs: 3140, bytesRead: 104_090_000, peakBytes: 418_000_000, requests };

const lastLine = (table: string): string => table.split("\n").at(-1) ?? "";

it("a cost and its ratios, large and small -> whole numbers from 10 on, two digits below", () => {
  const ratios = { toBareList: 558.2, toParse: 8.44, toShell: 0.0361 };
  expect(lastLine(tableOf([{ machines: 10_000, name: "a case", measured: { cost, asked: [] }, ...ratios }]))).toBe(
    "| 10,000 | a case | 660 (600, 20) | 104.09 | 12.456 | 3.14 | 418 | 558 | 8.4 | 0.036 |",
  );
});

it("a failure -> its reason in place of a cost", () => {
  expect(lastLine(tableOf([{ machines: 1000, name: "a case", measured: { failure: "no answer in 240 s" } }]))).toBe(
    "| 1,000 | a case | no answer in 240 s |  |  |  |  |  |  |  |",
  );
});
