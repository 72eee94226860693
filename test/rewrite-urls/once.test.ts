import { expect, test } from "vitest";
import { type Memory, once } from "../../functions/rewrite-urls/once.ts";
import { NOTHING, type Outcome } from "../../shared/acts/context.ts";

const DONE: Outcome = { acts: [], counts: { done: 1 } };

test("asked again, meanwhile and afterwards -> done once", async () => {
  const memory: Memory = new Map();
  let times = 0;
  const act = async () => {
    times += 1;
    return DONE;
  };
  expect(await Promise.all([once(memory, "a", act), once(memory, "a", act)])).toEqual([DONE, NOTHING]);
  expect(await once(memory, "a", act)).toEqual(NOTHING);
  expect(await once(memory, "b", act)).toEqual(DONE);
  expect(times).toBe(2);
});

test("it fails -> for all who asked meanwhile, and is done again", async () => {
  const memory: Memory = new Map();
  const fail = async () => {
    throw new Error("x");
  };
  const asked = await Promise.allSettled([once(memory, "a", fail), once(memory, "a", fail)]);
  expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await once(memory, "a", async () => DONE)).toEqual(DONE);
});

test("it fails and nobody else asked -> no rejection is left unhandled", async () => {
  await expect(once(new Map(), "a", () => Promise.reject(new Error("x")))).rejects.toThrow("x");
});

test("a thousand others since -> forgotten", async () => {
  const memory: Memory = new Map();
  for (let key = 0; key <= 1000; key += 1) await once(memory, String(key), async () => DONE);
  expect(memory.size).toBe(1000);
  expect(await once(memory, "0", async () => DONE)).toEqual(DONE);
  expect(await once(memory, "1000", async () => DONE)).toEqual(NOTHING);
});
