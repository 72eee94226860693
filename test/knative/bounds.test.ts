import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KNATIVE } from "./manifests.ts";
import { FUNCTIONS } from "./needs.ts";

const FILES = readdirSync(KNATIVE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
const BOUND = /containerConcurrency|max-scale|memory:/;

/** The lines of a file that say how much a function takes on, with whether a comment above says why. */
function boundsIn(file: string): readonly { readonly text: string; readonly hasWhy: boolean }[] {
  const lines = readFileSync(join(KNATIVE, file), "utf8").split("\n");
  return lines.flatMap((line, index) => {
    if (line.trim().startsWith("#") || !BOUND.test(line)) return [];
    return [{ text: line.trim().replace(/:.*/, ""), hasWhy: lines[index - 1]?.trim().startsWith("# ") === true }];
  });
}

test.each(FUNCTIONS)("%s -> says once how many pods, requests and bytes, each with its reason", (name) => {
  const stated = boundsIn(join("base", `${name}.yaml`));
  expect(stated).toEqual(
    ["autoscaling.knative.dev/max-scale", "containerConcurrency", "memory", "memory"].map((text) => {
      return { text, hasWhy: true };
    }),
  );
});

test("every other manifest -> says nothing of it", () => {
  const own: readonly string[] = FUNCTIONS.map((name) => join("base", `${name}.yaml`));
  expect(FILES.filter((file) => !own.includes(file) && boundsIn(file).length > 0)).toEqual([]);
});
