import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { NODE_FLAGS } from "./node-flags.ts";

/** For `--import`: makes Node believe that this is a pod, with a service account where the kubelet would mount it. */
export const POD = `data:text/javascript,${encodeURIComponent(`
const fs = process.getBuiltinModule("node:fs");
const promises = process.getBuiltinModule("node:fs/promises");
const isOfPod = (path) => String(path).startsWith("/var/run/secrets/kubernetes.io/serviceaccount/");
const { existsSync } = fs;
const { readFile } = promises;
fs.existsSync = (path) => isOfPod(path) || existsSync(path);
promises.readFile = (path, ...rest) => isOfPod(path) ? Promise.resolve("") : readFile(path, ...rest);
process.getBuiltinModule("node:module").syncBuiltinESMExports();
`)}`;

/** V8 draws a seed for the hashes in what it keeps; with the same one two bundlings give the same bytes. It compiles no differently for that. */
const SAME_HASHES = "--random-seed=42";

/** An API server that does not answer: port 9 is that of `discard`, where nobody listens. */
export const POD_ENVIRONMENT = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "9" };

/**
 * Serves a function as in a cluster whose API server does not answer, lets it handle an event, and ends it; what Node
 * compiled for that is in its compile cache then. Throws where it does not serve.
 */
export async function writeCompileCache(file: string, name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "capi-caretaker-"));
  try {
    const rules = join(folder, "rules.yaml");
    await writeFile(rules, "rules:\n  - from: http://a.example/\n    to: http://b.example/\n");
    await serveOnce(file, name, rules);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Node keeps its cache for its own user; who runs the image is another one. */
export async function openToAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

async function serveOnce(file: string, name: string, rules: string): Promise<void> {
  const child = spawn(process.execPath, [...NODE_FLAGS, SAME_HASHES, "--import", POD, file, name], {
    env: { ...POD_ENVIRONMENT, PORT: "0", REWRITE_RULES: rules },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line);
    if (msg !== "serving") continue;
    for (const type of ["ConfigMap", "Metal3MachineTemplate"]) await send(port, type);
    child.kill("SIGTERM");
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`${name} ended with ${code} before its code could be kept`);
}

async function send(port: number, kind: string): Promise<void> {
  const metadata = { name: "t", namespace: "n" };
  const headers = {
    "ce-id": "1",
    "ce-source": "https://127.0.0.1:6443",
    "ce-specversion": "1.0",
    "ce-type": "dev.knative.apiserver.resource.add",
    "content-type": "application/json",
  };
  const body = JSON.stringify({ apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1", kind, metadata });
  const answer = await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body });
  await answer.body?.cancel();
}
