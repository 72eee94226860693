import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { metal3MachineTemplate } from "../build/objects.ts";
import { folderOf, runCli } from "./run.ts";

const template = metal3MachineTemplate("t");

/** Starts a function on a snapshot and a free port; resolves when it serves. */
async function started(name: string) {
  const snapshot = await folderOf({ "t.json": template });
  const env = { PATH: process.env.PATH ?? "", SNAPSHOT: snapshot, PORT: "0" };
  const child = spawn(process.execPath, ["cli/start.ts", name], { env, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line);
    if (msg === "serving") return { child, url: `http://127.0.0.1:${port}` };
  }
  throw new Error(`${name} ended before it served`);
}

test("a function is served from a snapshot -> a template event is answered by the contract, SIGTERM ends it with 0", async () => {
  const { child, url } = await started("retain-templates");
  const headers = {
    "ce-id": "1",
    "ce-source": "https://127.0.0.1:6443",
    "ce-specversion": "1.0",
    "ce-type": "dev.knative.apiserver.resource.add",
    "content-type": "application/json",
  };
  const send = () => fetch(url, { method: "POST", headers, body: JSON.stringify(template) });
  const first = await send();
  expect([first.status, first.headers.get("ce-type")]).toEqual([200, "io.capi-caretaker.template.held"]);
  // The event is as it was; the template is not.
  const second = await send();
  expect([second.status, await second.text()]).toEqual([204, ""]);
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});

test.each<readonly [situation: string, args: readonly string[], environment: Record<string, string>, error: string]>([
  ["no name", [], {}, "name one of retain-templates"],
  ["an unknown name", ["tidy"], {}, 'no function "tidy"'],
  ["a bad port", ["retain-templates"], { PORT: "http" }, 'PORT is "http"'],
  ["a bad grace", ["collect-templates"], { COLLECT_GRACE: "ten" }, 'COLLECT_GRACE is "ten"'],
  ["a snapshot that is none", ["collect-templates"], { SNAPSHOT: "./nowhere" }, "./nowhere"],
  [
    "callers to check, and a snapshot that has no keys",
    ["retain-templates"],
    { SNAPSHOT: ".", OIDC_AUDIENCE: "a", OIDC_SUBJECTS: "s" },
    "OIDC_AUDIENCE and SNAPSHOT are both set",
  ],
])("%s -> the start stops with exit 2 and says why", async (_, args, environment, error) => {
  const { code, stderr } = await runCli("cli/start.ts", args, environment);
  expect(code).toBe(2);
  expect(stderr).toContain(error);
});

test("the demo -> every outcome is as it must be", async () => {
  const { code, stdout } = await runCli("cli/demo.ts", []);
  expect(stdout).not.toContain("WRONG");
  expect(stdout).toContain("At the end");
  expect(code).toBe(0);
});
