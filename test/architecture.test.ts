import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { COMPUTED, type Import, importsOf, withoutComments } from "./build/imports.ts";

/** Source files by path from the root of the project. */
type Sources = ReadonlyMap<string, string>;

const sources: Sources = new Map(
  globSync("{functions,shared,cli}/**/*.ts").map((path) => [path.replaceAll("\\", "/"), readFileSync(path, "utf8")]),
);

// The rules of design.md as data. A file on the right of an exception is named with its reason.

/** Who may import whom, by path. The first rule whose `in` fits a file holds for it. */
const LAYERS: readonly { readonly in: RegExp; readonly may: (match: RegExpExecArray) => RegExp }[] = [
  { in: /^shared\/([^/]+)\//, may: ([, room = ""]) => inRooms([room, ...(ROOMS[room] ?? [])]) },
  { in: /^functions\/([^/]+)\//, may: ([, name]) => new RegExp(`^(shared|functions/${name})/`) },
  { in: /^cli\//, may: () => /^(shared|functions|cli)\// },
];

/** The rooms of shared/, and which others each may import. Every file of shared/ is in one of them. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  setup: [],
  concurrency: [],
  objects: [],
  marks: ["objects"],
  graph: ["objects", "marks"],
  cluster: ["setup", "objects", "marks"],
  owners: ["setup", "objects", "marks", "cluster"],
  look: ["concurrency", "objects", "marks", "graph", "cluster"],
  events: ["setup", "objects", "marks", "graph"],
  acts: ["setup", "objects", "marks", "graph", "cluster", "look", "events"],
  serving: ["setup", "objects", "cluster", "events", "acts"],
};

function inRooms(rooms: readonly string[]): RegExp {
  return new RegExp(`^shared/(${rooms.join("|")})/`);
}

/** Both implementations of Cluster, and the only files outside them that may choose one. */
const IMPLEMENTATIONS = /^shared\/cluster\/(kubernetes|snapshot)\//;
const CHOOSERS: readonly RegExp[] = [/^shared\/cluster\/connect\.ts$/, /^cli\//];

/** The files that each package belongs to. A package that is not here belongs to nobody yet. */
const PACKAGES: Readonly<Record<string, readonly RegExp[]>> = {
  "@kubernetes/client-node": [/^shared\/cluster\/kubernetes\//],
  cloudevents: [
    /^shared\/(events\/change|serving\/reply)\.ts$/,
    /^cli\/demo\/source\.ts$/, // plays the ApiServerSource, so it makes events
  ],
  jose: [/^shared\/cluster\/callers\.ts$/],
  pino: [/^shared\/setup\/log\.ts$/],
  yaml: [
    /^shared\/cluster\/snapshot\/documents\.ts$/,
    /^shared\/owners\/helm-manifest\.ts$/,
    /^functions\/rewrite-urls\/rules-file\.ts$/,
    /^cli\/artefacts\/install\.ts$/, // what kustomize is to build
    /^functions\/label-machines\/prepare\/cluster-configuration\.ts$/, // kubeadm keeps it as YAML in an annotation
  ],
  zod: [/./],
  esbuild: [
    /^cli\/bundle(\.ts$|\/)/,
    /^cli\/artefacts\/licences\.ts$/, // asks what the bundle holds
  ],
};

const READS_ENVIRONMENT: readonly RegExp[] = [
  /^cli\//,
  /^shared\/cluster\/kubernetes\/load-login\.ts$/, // what the kubelet sets inside a pod is no setting of a person
];

/** What a decision may never reach by an import of values: clients, servers, clocks, writes and whatever hides them. */
const EFFECTS: readonly RegExp[] = [
  IMPLEMENTATIONS,
  /^shared\/acts\/(?!comes-back\.ts$)/,
  /^shared\/serving\//,
  /^shared\/cluster\/(callers|connect|dry-run)\.ts$/,
  /^shared\/events\/change\.ts$/,
  /^shared\/look\/(facts|shared-look)\.ts$/,
  /^shared\/setup\/(log|settings)\.ts$/,
  /^node:(?!util$)/,
  /^(@kubernetes\/|cloudevents|jose|pino|yaml)/,
  new RegExp(`^${COMPUTED}$`),
];
/** Effects by name that are none in use: the file that imports it, and what it imports. */
const PURE: readonly (readonly [string, string])[] = [
  ["functions/rewrite-urls/rules.ts", "node:crypto"], // createHash alone
];
const CLOCKS =
  /\bprocess\b|\bDate\b|\bTemporal\.Now\b|\bMath\.random\b|\bcrypto\.|\bfetch\(|\bset(?:Timeout|Interval)\b/;
const DECISION = /^functions\/[^/]+\/decide\.ts$/;

function violations(files: Sources): readonly string[] {
  return [...files].flatMap(([path, text]) => {
    const imports = importsOf(path, text);
    return [
      ...imports.flatMap((one) => [layerProblem(path, one), packageProblem(path, one), barrelProblem(one)]),
      environmentProblem(path, text),
      roomProblem(path),
      ...(DECISION.test(path) ? decisionProblems(path, files) : []),
    ]
      .filter((problem) => problem !== undefined)
      .map((problem) => `${path} ${problem}`);
  });
}

function layerProblem(path: string, { from }: Import): string | undefined {
  if (from === COMPUTED) return "imports what nobody can tell";
  if (!isFile(from)) return undefined;
  for (const layer of LAYERS) {
    const match = layer.in.exec(path);
    if (match === null) continue;
    if (!layer.may(match).test(from)) return `imports ${from}`;
    break;
  }
  const isOutside = IMPLEMENTATIONS.test(from) && !IMPLEMENTATIONS.test(path);
  return isOutside && !fits(path, CHOOSERS) ? `imports a cluster implementation, ${from}` : undefined;
}

function roomProblem(path: string): string | undefined {
  if (!path.startsWith("shared/")) return undefined;
  const [, room = "", file] = path.split("/");
  return file !== undefined && room in ROOMS ? undefined : "stands in no room";
}

function packageProblem(path: string, { from, isTypeOnly }: Import): string | undefined {
  if (isFile(from) || from.startsWith("node:") || from === COMPUTED) return undefined;
  const name = from.split("/", from.startsWith("@") ? 2 : 1).join("/");
  const owners = PACKAGES[name];
  if (owners === undefined) return `imports ${name}, which belongs to nobody`;
  if (name === "zod" && DECISION.test(path) && !isTypeOnly) return "imports zod for more than its types";
  return fits(path, owners) ? undefined : `imports ${name}`;
}

function barrelProblem({ isReexport, from }: Import): string | undefined {
  return isReexport ? `hands on ${from}` : undefined;
}

function environmentProblem(path: string, text: string): string | undefined {
  return /\bprocess\.env\b/.test(withoutComments(text)) && !fits(path, READS_ENVIRONMENT)
    ? "reads the environment"
    : undefined;
}

/** Files that import each other in a circle, types included, each circle as one line. */
function circles(files: Sources): readonly string[] {
  const open: string[] = [];
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string): void => {
    if (open.includes(path)) {
      found.push([...open.slice(open.indexOf(path)), path].join(" -> "));
      return;
    }
    if (done.has(path)) return;
    open.push(path);
    for (const { from } of importsOf(path, files.get(path) ?? "")) if (isFile(from)) visit(from);
    open.pop();
    done.add(path);
  };
  for (const path of files.keys()) visit(path);
  return found;
}

/** Follows the imports of values from a decision as far as they go. */
function decisionProblems(decision: string, files: Sources): readonly string[] {
  const reached = new Set([decision]);
  const problems: string[] = [];
  for (const path of reached) {
    const text = withoutComments(files.get(path) ?? "");
    const values = importsOf(path, text).filter(({ isTypeOnly }) => !isTypeOnly);
    const effects = values.map(({ from }) => from).filter((from) => fits(from, EFFECTS) && !isPure(path, from));
    const through = path === decision ? "" : ` through ${path}`;
    problems.push(...[...(text.match(CLOCKS) ?? []), ...effects].map((what) => `reaches ${what}${through}`));
    for (const { from } of values) if (isFile(from) && !effects.includes(from)) reached.add(from);
  }
  return problems;
}

function isPure(path: string, from: string): boolean {
  return PURE.some(([file, what]) => file === path && what === from);
}

function isFile(from: string): boolean {
  return from.endsWith(".ts");
}

function fits(path: string, patterns: readonly RegExp[]): boolean {
  return patterns.some((pattern) => pattern.test(path));
}

describe("the project", () => {
  it("is read: every function has a decision, and imports are found", () => {
    const names = new Set([...sources.keys()].flatMap((path) => /^functions\/([^/]+)\//.exec(path)?.[1] ?? []));
    const decisions = [...sources.keys()].filter((path) => DECISION.test(path));
    expect(decisions).toHaveLength(names.size);
    expect(names.size).toBeGreaterThanOrEqual(2);
    expect([...sources].flatMap(([path, text]) => importsOf(path, text)).length).toBeGreaterThan(200);
  });

  it("keeps the directions of design.md", () => {
    expect(violations(sources)).toEqual([]);
  });

  it("goes in no circle", () => {
    expect(circles(sources)).toEqual([]);
  });

  it("imports no file that is not there", () => {
    const missing = [...sources].flatMap(([path, text]) =>
      importsOf(path, text).flatMap(({ from }) => (isFile(from) && !sources.has(from) ? [`${path} -> ${from}`] : [])),
    );
    expect(missing).toEqual([]);
  });

  it("names no exception that is none", () => {
    const named = [...Object.values(PACKAGES).flat(), ...READS_ENVIRONMENT, ...CHOOSERS];
    expect(named.filter((pattern) => ![...sources.keys()].some((path) => pattern.test(path)))).toEqual([]);
    for (const [file, what] of PURE) {
      expect(importsOf(file, sources.get(file) ?? "").map(({ from }) => from)).toContain(what);
    }
  });
});

describe("the check itself", () => {
  const said = (files: Readonly<Record<string, string>>) => violations(new Map(Object.entries(files)));

  it.each<[string, string, string, string]>([
    [
      "shared imports a function",
      "shared/graph/a.ts",
      'import { x } from "../../functions/b/index.ts";',
      "imports functions/b/index.ts",
    ],
    ["shared imports the command line", "shared/graph/a.ts", 'import "../../cli/start.ts";', "imports cli/start.ts"],
    [
      "a room imports one above it",
      "shared/graph/a.ts",
      'import { x } from "../look/b.ts";',
      "imports shared/look/b.ts",
    ],
    [
      "a room imports the types of one beside it",
      "shared/objects/a.ts",
      'import type { X } from "../setup/b.ts";',
      "imports shared/setup/b.ts",
    ],
    ["a file that stands in no room", "shared/a.ts", "export const a = 1;", "stands in no room"],
    ["a file in a room that nobody knows", "shared/attic/a.ts", "export const a = 1;", "stands in no room"],
    [
      "a function imports another",
      "functions/a/index.ts",
      'import { x } from "../b/decide.ts";',
      "imports functions/b/decide.ts",
    ],
    [
      "a function whose name only starts alike",
      "functions/a/index.ts",
      'import { x } from "../ab/x.ts";',
      "imports functions/ab/x.ts",
    ],
    [
      "a function imports its types only",
      "functions/a/index.ts",
      'import type { X } from "../b/decide.ts";',
      "imports functions/b/decide.ts",
    ],
    [
      "a function imports another when it runs",
      "functions/a/index.ts",
      'const x = await import("../b/x.ts");',
      "imports functions/b/x.ts",
    ],
    [
      "a function imports the command line",
      "functions/a/index.ts",
      'import { x } from "../../cli/plan.ts";',
      "imports cli/plan.ts",
    ],
    [
      "anything imports a test",
      "cli/a.ts",
      'import { x } from "../test/build/objects.ts";',
      "imports test/build/objects.ts",
    ],
    [
      "over several lines",
      "shared/graph/a.ts",
      'import {\n  x,\n  type Y,\n} from "../../cli/b.ts";',
      "imports cli/b.ts",
    ],
    ["all under a name", "shared/graph/a.ts", 'import * as b from "../../cli/b.ts";', "imports cli/b.ts"],
    ["a default and names", "shared/graph/a.ts", 'import b, { c } from "../../cli/b.ts";', "imports cli/b.ts"],
    ["single quotes", "shared/graph/a.ts", "import { x } from '../../cli/b.ts';", "imports cli/b.ts"],
    ["nobody can tell what", "shared/graph/a.ts", "await import(name);", "imports what nobody can tell"],
    [
      "a function takes a cluster implementation",
      "functions/a/index.ts",
      'import { x } from "../../shared/cluster/snapshot/cluster.ts";',
      "imports a cluster implementation, shared/cluster/snapshot/cluster.ts",
    ],
    [
      "shared does, outside connect",
      "shared/cluster/a.ts",
      'import { x } from "./kubernetes/cluster.ts";',
      "imports a cluster implementation, shared/cluster/kubernetes/cluster.ts",
    ],
    [
      "the client library outside its adapter",
      "shared/cluster/snapshot/a.ts",
      'import { KubeConfig } from "@kubernetes/client-node/dist/config.js";',
      "imports @kubernetes/client-node",
    ],
    ["cloudevents elsewhere", "shared/serving/serve.ts", 'import { HTTP } from "cloudevents";', "imports cloudevents"],
    ["pino elsewhere, types too", "shared/graph/a.ts", 'import type { Logger } from "pino";', "imports pino"],
    ["yaml elsewhere", "cli/plan.ts", 'import { parse } from "yaml";', "imports yaml"],
    [
      "a package that nobody owns",
      "shared/graph/a.ts",
      'import _ from "lodash";',
      "imports lodash, which belongs to nobody",
    ],
    [
      "a scoped package that nobody owns",
      "shared/graph/a.ts",
      'import _ from "@a/b/c";',
      "imports @a/b, which belongs to nobody",
    ],
    ["a barrel", "shared/graph/index.ts", 'export * from "./graph.ts";', "hands on shared/graph/graph.ts"],
    [
      "a barrel of names",
      "shared/graph/index.ts",
      'export { a, b } from "./graph.ts";',
      "hands on shared/graph/graph.ts",
    ],
    [
      "a barrel of types",
      "shared/graph/index.ts",
      'export type { A } from "./graph.ts";',
      "hands on shared/graph/graph.ts",
    ],
    ["the environment elsewhere", "shared/setup/settings.ts", "const x = process.env.PORT;", "reads the environment"],
    ["a decision with zod", "functions/a/decide.ts", 'import { z } from "zod";', "imports zod for more than its types"],
    [
      "a decision with a file system",
      "functions/a/decide.ts",
      'import { readFileSync } from "node:fs";',
      "reaches node:fs",
    ],
    [
      "a decision with settings",
      "functions/a/decide.ts",
      'import { readSettings } from "../../shared/setup/settings.ts";',
      "reaches shared/setup/settings.ts",
    ],
    [
      "a decision that gathers",
      "functions/a/decide.ts",
      'import { gatherFacts } from "../../shared/look/facts.ts";',
      "reaches shared/look/facts.ts",
    ],
    [
      "a decision with a server",
      "functions/a/decide.ts",
      'import { x } from "../../shared/serving/serve.ts";',
      "reaches shared/serving/serve.ts",
    ],
    ["a decision with a process", "functions/a/decide.ts", "export const x = process.argv;", "reaches process"],
    ["a decision with a clock", "functions/a/decide.ts", "export const x = Date.now();", "reaches Date"],
    [
      "a decision with another clock",
      "functions/a/decide.ts",
      "export const x = Temporal.Now.instant();",
      "reaches Temporal.Now",
    ],
    ["a decision with chance", "functions/a/decide.ts", "export const x = Math.random();", "reaches Math.random"],
  ])("flags %s", (_, path, text, problem) => {
    expect(said({ [path]: text })).toContain(`${path} ${problem}`);
  });

  it("flags a circle, of types too", () => {
    const files = {
      "functions/a/b.ts": 'import { c } from "./c.ts";',
      "functions/a/c.ts": 'import type { D } from "./d.ts";',
      "functions/a/d.ts": 'const b = await import("./b.ts");',
    };
    const circle = "functions/a/b.ts -> functions/a/c.ts -> functions/a/d.ts -> functions/a/b.ts";
    expect(circles(new Map(Object.entries(files)))).toEqual([circle]);
  });

  it("flags what a decision reaches through others", () => {
    const files = {
      "functions/a/decide.ts": 'import { b } from "./b.ts";',
      "functions/a/b.ts": 'import { c } from "../../shared/objects/c.ts";',
      "shared/objects/c.ts": 'import { randomUUID } from "node:crypto";\nexport const now = Temporal.Now.instant();',
    };
    expect(said(files)).toEqual([
      "functions/a/decide.ts reaches Temporal.Now through shared/objects/c.ts",
      "functions/a/decide.ts reaches node:crypto through shared/objects/c.ts",
    ]);
  });

  it.each([
    ["types of what gathers", "functions/a/decide.ts", 'import type { Facts } from "../../shared/look/facts.ts";'],
    ["types of zod", "functions/a/decide.ts", 'import type { z } from "zod";'],
    ["instants it is given", "functions/a/decide.ts", "export const x = (now: Temporal.Instant) => now;"],
    ["its own files", "functions/a/index.ts", 'import { x } from "./checks/b.ts";'],
    ["functions from the command line", "cli/start.ts", 'const x = () => import("../functions/a/index.ts");'],
    ["an export of its own", "shared/graph/a.ts", 'export const from = "b";\nexport { from as to };'],
    [
      "an import in a comment",
      "shared/graph/a.ts",
      '// import { x } from "../../cli/b.ts";\n/**\n * import("../../cli/b.ts")\n */',
    ],
    ["the word process in a comment", "functions/a/decide.ts", "// the process goes on\nexport const x = 1;"],
  ])("lets pass %s", (_, path, text) => {
    expect(said({ [path]: text })).toEqual([]);
  });
});
