import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BareList } from "./bare-list.ts";

/** What a function is compared with, measured in the same run. */
export interface Baselines {
  /** Metadata of the same kinds, listed page by page, read and dropped. */
  readonly bareList: BareList;
  /** Bytes of JSON that JSON.parse takes in a millisecond. */
  readonly parseRate: number;
  /** What people do today; a sentence where it could not be run. */
  readonly shell: { readonly wallMs: number; readonly templates: number } | string;
}

async function list(kubeconfig: string, mode: "metadata" | "parse", paths: readonly string[]): Promise<BareList> {
  const program = join(import.meta.dirname, "bare-list.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [program, kubeconfig, mode, ...paths]);
  return JSON.parse(stdout) as BareList;
}

/** Lists metadata of these collections in a process of its own. */
export function bareList(kubeconfig: string, paths: readonly string[]): Promise<BareList> {
  return list(kubeconfig, "metadata", paths);
}

/** Bytes of these collections' objects that JSON.parse takes in a millisecond. */
export async function parseRate(kubeconfig: string, paths: readonly string[]): Promise<number> {
  const { bytes, parseMs } = await list(kubeconfig, "parse", paths);
  return bytes / parseMs;
}

function isInstalled(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** For each template, how many machines name it: one look at the cluster, and a jq over it for each. */
const script = `
set -eu
get() { kubectl get "$1" --all-namespaces --output json; }
get metal3machines.infrastructure.cluster.x-k8s.io > "$DIR/machines.json"
get kubeadmconfigs.bootstrap.cluster.x-k8s.io > "$DIR/configs.json"
count() {
  get "$1" | jq --raw-output '.items[].metadata.name' | while read -r template; do
    jq --arg template "$template" \\
      '[.items[] | select(.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == $template)] | length' \\
      "$DIR/$2.json"
  done
}
count metal3machinetemplates.infrastructure.cluster.x-k8s.io machines
count kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io configs
`;

/** Runs what people do today, kubectl and a loop of jq over all templates; a sentence where it cannot be run. */
export async function shellScript(kubeconfig: string, folder: string): Promise<Baselines["shell"]> {
  const missing = ["kubectl", "jq"].filter((program) => !isInstalled(program));
  if (missing.length > 0) return `the shell script was not run: ${missing.join(" and ")} not installed`;
  const start = performance.now();
  try {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder, DIR: folder };
    const { stdout } = await promisify(execFile)("sh", ["-c", script], { env, timeout: 600_000 });
    return { wallMs: performance.now() - start, templates: stdout.trim().split("\n").length };
  } catch (error) {
    return `the shell script failed: ${error instanceof Error ? error.message.split("\n").at(-1) : String(error)}`;
  }
}
