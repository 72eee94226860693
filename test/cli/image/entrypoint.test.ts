import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NODE_FLAGS } from "../../../cli/bundle/node-flags.ts";

test("the Dockerfile's image -> starts Node as the other one does", () => {
  const [, entrypoint = "[]"] = /^ENTRYPOINT (.*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  expect(JSON.parse(entrypoint)).toEqual(["node", ...NODE_FLAGS, "/app/caretaker.mjs"]);
});
