import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { NODE_FLAGS } from "../../cli/bundle/node-flags.ts";
import { POD, POD_ENVIRONMENT } from "../../cli/bundle/warm.ts";
import { bundle, type Made } from "../../cli/bundle.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { resourceEvent } from "../build/events.ts";
import { metal3MachineTemplate } from "../build/objects.ts";

// Bundling and some starts of Node, on a machine that may be busy.
const PATIENCE = 120_000;
const FUNCTIONS = ["retain-templates", "collect-templates", "rewrite-urls", "label-machines"] as const;

const template = metal3MachineTemplate("t");
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "sylva" } };
let folder = "";
let made: Made = new Map();

beforeAll(async () => {
  folder = await emptyFolder();
  made = await bundle(folder);
}, PATIENCE);

const folders: string[] = [];

async function emptyFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "bundle-"));
  folders.push(made);
  return made;
}

afterAll(async () => {
  for (const made of folders) await rm(made, { recursive: true });
});

/** Runs the bundle from anywhere; the result comes when it serves. */
async function serve(name: string, env: Record<string, string>, flags: readonly string[] = [], from = folder) {
  const child = spawn(process.execPath, [...NODE_FLAGS, ...flags, join(from, "caretaker.mjs"), name], {
    cwd: "/",
    // What the tests load is not to be kept beside what the bundling kept.
    env: { PORT: "0", NODE_DISABLE_COMPILE_CACHE: "1", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const post = async (port: number, action: "add" | "delete", object: KubeObject) => {
    const { headers, body } = resourceEvent(action, object);
    return fetch(`http://127.0.0.1:${port}`, { method: "POST", headers: { ...headers }, body });
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line);
    if (msg !== "serving") continue;
    child.stdout.resume();
    return {
      url: `http://127.0.0.1:${port}`,
      post: (action: "add" | "delete", object: KubeObject) => post(port, action, object),
      async end() {
        child.kill("SIGTERM");
        const [code] = await once(child, "exit");
        return code;
      },
    };
  }
  throw new Error(`${name} ended before it served`);
}

async function snapshotOf(object: KubeObject): Promise<string> {
  const snapshot = await emptyFolder();
  await writeFile(join(snapshot, "t.json"), JSON.stringify(object));
  return snapshot;
}

test("the bundle alone -> serves an event, answers its probes, ends with 0", { timeout: PATIENCE }, async () => {
  const { post, url, end } = await serve("retain-templates", { SNAPSHOT: await snapshotOf(template) });
  const answer = await post("add", template);
  expect([answer.status, answer.headers.get("ce-type")]).toEqual([200, "io.capi-caretaker.template.held"]);
  const probes = ["/health/readiness", "/health/liveness"].map(async (path) => (await fetch(url + path)).status);
  expect(await Promise.all(probes)).toEqual([200, 200]);
  expect(await end()).toBe(0);
});

test("a kubeconfig, which needs the client library -> is read from the bundle too", { timeout: PATIENCE }, async () => {
  const kubeconfig = join(await emptyFolder(), "config");
  const clusters = [{ name: "c", cluster: { server: "https://127.0.0.1:9" } }];
  const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
  const users = [{ name: "u", user: { token: "t" } }];
  await writeFile(kubeconfig, JSON.stringify({ "current-context": "c", clusters, contexts, users }));
  const { post, end } = await serve("retain-templates", { KUBECONFIG: kubeconfig });
  expect((await post("add", configMap)).status).toBe(204);
  expect((await post("add", template)).status).toBe(503);
  expect(await end()).toBe(0);
});

test("callers to check -> the check is in the bundle, and nobody without a token comes in", {
  timeout: PATIENCE,
}, async () => {
  const env = { ...POD_ENVIRONMENT, OIDC_AUDIENCE: "a", OIDC_SUBJECTS: "s" };
  const { post, end } = await serve("retain-templates", env, ["--import", POD]);
  expect((await post("add", configMap)).status).toBe(401);
  expect(await end()).toBe(0);
});

test("the bundle without the name of a function -> exit 2 and the names", { timeout: PATIENCE }, async () => {
  const child = spawn(process.execPath, [...NODE_FLAGS, join(folder, "caretaker.mjs")], {
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said] = await once(child.stderr, "data");
  const [code] = await once(child, "exit");
  expect([code, String(said)]).toEqual([2, expect.stringContaining("retain-templates, collect-templates")]);
});

test("a bad setting -> exit 2 and its name, from the bundle too", { timeout: PATIENCE }, async () => {
  const args = [...NODE_FLAGS, join(folder, "caretaker.mjs"), "label-machines"];
  const child = spawn(process.execPath, args, { env: { PORT: "x" }, stdio: ["ignore", "ignore", "pipe"] });
  const [said] = await once(child.stderr, "data");
  const [code] = await once(child, "exit");
  expect([code, String(said)]).toEqual([2, expect.stringMatching(/^PORT is "x"; it may be .*\n$/)]);
});

describe("what V8 compiled at the bundling", () => {
  it("may be read by whoever runs the image", async () => {
    const entries = await readdir(join(folder, "compile-cache"), { recursive: true, withFileTypes: true });
    const modes = entries.map(async (entry) => {
      const { mode } = await stat(join(entry.parentPath, entry.name));
      return `${entry.isFile() ? "file" : "folder"} ${(mode & 0o777).toString(8)}`;
    });
    expect(new Set(await Promise.all(modes))).toEqual(new Set(["folder 755", "file 644"]));
  });

  it.each(FUNCTIONS)(
    "is taken over at another place that nobody can write, by %s",
    { timeout: PATIENCE },
    async (name) => {
      const elsewhere = join(await emptyFolder(), "app");
      await cp(folder, elsewhere, { recursive: true });
      for (const path of await readdir(elsewhere, { recursive: true })) await chmod(join(elsewhere, path), 0o555);
      const rules = await rulesFile();
      const env = { ...POD_ENVIRONMENT, REWRITE_RULES: rules, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
      const child = spawn(process.execPath, [...NODE_FLAGS, "--import", POD, join(elsewhere, "caretaker.mjs"), name], {
        env: { PORT: "0", ...env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let said = "";
      for await (const line of createInterface({ input: child.stderr })) {
        said += `${line}\n`;
        if (/\/(yaml\.cjs|[a-z]+-[a-z]+\.mjs) was accepted/.test(line) && line.includes(name)) break;
      }
      child.kill("SIGKILL");
      expect(said).toMatch(new RegExp(`/app/${name}\\.mjs was accepted`));
    },
  );
});

async function rulesFile(): Promise<string> {
  const file = join(await emptyFolder(), "rules.yaml");
  await writeFile(file, "rules:\n  - from: http://a.example/\n    to: http://b.example/\n");
  return file;
}

/** Says at its end which of Node's own modules were loaded. */
const TELL_MODULES = `data:text/javascript,${encodeURIComponent(
  'process.on("exit", () => process.getBuiltinModule("node:fs").writeFileSync(process.env.MODULES, JSON.stringify(process.moduleLoadList)));',
)}`;

/** Every file of the bundle that a process loaded, as V8 itself says, and Node's own modules. */
async function loadedBy(name: string) {
  const [coverage, modules] = [await emptyFolder(), join(await emptyFolder(), "modules.json")];
  const env = { ...POD_ENVIRONMENT, REWRITE_RULES: await rulesFile(), NODE_V8_COVERAGE: coverage, MODULES: modules };
  const { post, end } = await serve(name, env, ["--import", POD, "--import", TELL_MODULES]);
  expect((await post("add", configMap)).status).toBe(204);
  // The API server does not answer: all that a call needs is loaded, and nothing comes of it.
  await post("add", template);
  expect(await end()).toBe(0);
  const [report = ""] = await readdir(coverage);
  const { result } = JSON.parse(await readFile(join(coverage, report), "utf8"));
  const files = (result as readonly { readonly url: string }[])
    .filter(({ url }) => url.startsWith("file:"))
    .map(({ url }) => fileURLToPath(url));
  return { files, modules: JSON.parse(await readFile(modules, "utf8")) as readonly string[] };
}

/** A stub that loads a package later is none of it. */
const NOT_IN_A_CLUSTER = /^(?!lazy:).*(client-node|undici|js-yaml|\/jose\/|\/locales\/(?!(en|index)\.js))/;

describe("a start in a cluster", () => {
  it.each([
    ["retain-templates", 480, []],
    ["collect-templates", 480, []],
    ["rewrite-urls", 650, ["yaml.cjs"]],
    ["label-machines", 490, []],
  ] as const)(
    "of %s -> loads less than %i KiB, and nothing of a kubeconfig's",
    { timeout: PATIENCE },
    async (name, most, more) => {
      const { files, modules } = await loadedBy(name);
      expect(files.map((file) => basename(file)).toSorted()).toEqual(
        ["caretaker.mjs", `${name}.mjs`, ...more].toSorted(),
      );
      const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
      expect(sizes.reduce((sum, size) => sum + size) / 1024).toBeLessThan(most);
      const sources = files.flatMap((file) => made.get(basename(file)) ?? []);
      expect(sources.length).toBeGreaterThan(50);
      expect(sources.filter((path) => NOT_IN_A_CLUSTER.test(path))).toEqual([]);
      // The other functions' code stays where it is.
      const others = FUNCTIONS.filter((one) => one !== name);
      expect(sources.filter((path) => others.some((other) => path.includes(`functions/${other}/`)))).toEqual([]);
      expect(modules.filter((one) => /deps\/undici/.test(one))).toEqual([]);
    },
  );
});
