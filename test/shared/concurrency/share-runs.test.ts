import { describe, expect, test } from "vitest";
import { shareRuns, shareRunsById } from "../../../shared/concurrency/share-runs.ts";

/** A run that ends when the test says so, and what each run was given. */
function steered() {
  const runs: {
    readonly items: readonly number[];
    readonly end: (result: string) => void;
    readonly fail: () => void;
  }[] = [];
  const run = (items: readonly number[]) =>
    new Promise<string>((resolve, reject) => {
      runs.push({ items, end: resolve, fail: () => reject(new Error("lost")) });
    });
  return { runs, run };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("calls that arrive", () => {
  test("alone -> one run", async () => {
    const { runs, run } = steered();
    const result = shareRuns(run)(1);
    await settled();
    runs[0]?.end("done");
    expect([await result, runs.map(({ items }) => items)]).toEqual(["done", [[1]]]);
  });

  test("before the run begins -> share it", async () => {
    const { runs, run } = steered();
    const share = shareRuns(run);
    const results = [share(1), share(2), share(3)];
    await settled();
    runs[0]?.end("done");
    expect([await Promise.all(results), runs.map(({ items }) => items)]).toEqual([
      ["done", "done", "done"],
      [[1, 2, 3]],
    ]);
  });

  test("while one runs -> none is answered by it, all share the next, and only one runs at a time", async () => {
    const { runs, run } = steered();
    const share = shareRuns(run);
    const first = share(1);
    await settled();
    const later = Array.from({ length: 200 }, (_, index) => share(index + 2));
    await settled();
    expect(runs.length).toBe(1);
    runs[0]?.end("old");
    expect(await first).toBe("old");
    await settled();
    runs[1]?.end("new");
    expect(new Set(await Promise.all(later))).toEqual(new Set(["new"]));
    expect(runs.map(({ items }) => items.length)).toEqual([1, 200]);
  });

  test("and their run fails -> each of them fails, the next run goes on", async () => {
    const { runs, run } = steered();
    const share = shareRuns(run);
    const both = [share(1), share(2)];
    await settled();
    const next = share(3);
    runs[0]?.fail();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await settled();
    runs[1]?.end("done");
    expect(await next).toBe("done");
  });

  test("under several ids -> ids run side by side, each for itself", async () => {
    const asked: string[] = [];
    const share = shareRunsById<number, string>(async (id, items) => {
      asked.push(`${id} ${items.join("+")}`);
      await settled();
      return id;
    });
    const results = await Promise.all([share("a", 1), share("b", 2), share("a", 3)]);
    expect([results, asked.toSorted()]).toEqual([
      ["a", "b", "a"],
      ["a 1+3", "b 2"],
    ]);
  });
});
