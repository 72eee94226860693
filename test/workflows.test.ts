import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const Workflow = z.looseObject({
  permissions: z.strictObject({}),
  jobs: z.record(
    z.string(),
    z.looseObject({
      "timeout-minutes": z.number(),
      permissions: z.record(z.string(), z.enum(["read", "write"])),
      steps: z.array(z.looseObject({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
});
const files = globSync(".github/workflows/*").map((path) => [path, readFileSync(path, "utf8")] as const);

it("finds the workflows", () => {
  expect(files.map(([path]) => path.split("/").at(-1)).toSorted()).toEqual(["ci.yaml", "release.yaml"]);
});

describe.each(files)("%s", (_, text) => {
  const { jobs } = Workflow.parse(parse(text));
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it("takes every action by its commit, and says which version that is", () => {
    const taken = text.split("\n").filter((line) => /\buses:/.test(line));
    expect(taken.length).toBe(steps.filter(({ uses }) => uses !== undefined).length);
    for (const line of taken) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("puts nothing that others wrote into a command", () => {
    expect(steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
  });

  it("runs scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    const named = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

it("lets only the release write", () => {
  const [ci = ""] = files.flatMap(([path, text]) => (path.endsWith("ci.yaml") ? [text] : []));
  const granted = Object.values(Workflow.parse(parse(ci)).jobs).map(({ permissions }) => permissions);
  expect(granted).toEqual([{ contents: "read" }, { contents: "read" }]);
});
