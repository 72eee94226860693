import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, expect, test } from "vitest";
import { bundle } from "../../cli/bundle.ts";
import { resourceEvent } from "../build/events.ts";
import { metal3MachineTemplate } from "../build/objects.ts";

// Bundling and two starts of Node, on a machine that may be busy.
const PATIENCE = 60_000;

const template = metal3MachineTemplate("t");
let folder = "";
let size = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bundle-"));
  size = await bundle(join(folder, "caretaker.mjs"));
}, PATIENCE);

/** Runs the bundle alone in its folder; the result comes when it serves. */
async function serve(name: string) {
  const snapshot = await mkdtemp(join(tmpdir(), "snapshot-"));
  await writeFile(join(snapshot, "t.json"), JSON.stringify(template));
  const started = performance.now();
  const child = spawn(process.execPath, ["caretaker.mjs", name], {
    cwd: folder,
    env: { SNAPSHOT: snapshot, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line);
    if (msg === "serving") return { child, url: `http://127.0.0.1:${port}`, took: performance.now() - started };
  }
  throw new Error(`${name} ended before it served`);
}

test("the bundle alone in an empty folder -> serves an event, answers its probes, ends with 0", {
  timeout: PATIENCE,
}, async () => {
  expect(await readdir(folder)).toEqual(["caretaker.mjs"]);
  const { child, url, took } = await serve("retain-templates");
  console.log(`the bundle is ${(size / 1024).toFixed(0)} KiB and serves after ${took.toFixed(0)} ms`);
  const { headers, body } = resourceEvent("add", template);
  const answer = await fetch(url, { method: "POST", headers, body });
  expect([answer.status, answer.headers.get("ce-type")]).toEqual([200, "io.capi-caretaker.template.held"]);
  const probes = ["/health/readiness", "/health/liveness"].map(async (path) => (await fetch(url + path)).status);
  expect(await Promise.all(probes)).toEqual([200, 200]);
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});

test("the bundle without the name of a function -> exit 2 and the names", { timeout: PATIENCE }, async () => {
  const child = spawn(process.execPath, ["caretaker.mjs"], {
    cwd: folder,
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said] = await once(child.stderr, "data");
  const [code] = await once(child, "exit");
  expect([code, String(said)]).toEqual([2, expect.stringContaining("retain-templates, collect-templates")]);
});
