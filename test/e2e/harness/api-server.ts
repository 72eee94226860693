import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import type { Server } from "./http.ts";
import { binary } from "./paths.ts";
import { type Child, startProcess, untilReady } from "./process.ts";

export interface ApiServerOptions {
  /** Writes `audit.log` in the folder, a JSON line for every request when it is complete. */
  audit?: boolean;
  featureGates?: Record<string, boolean>;
  /** Further flags of kube-apiserver. */
  apiServerFlags?: readonly string[];
}

/** The smallest record from which requests can be counted: who, what, with which answer. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

function writeServiceAccountKey(folder: string): string {
  const file = join(folder, "service-account.pem");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(file, privateKey.export({ type: "pkcs1", format: "pem" }));
  return file;
}

/** Writes what kube-apiserver needs into the folder and returns its flags; `token` makes a cluster administrator. */
export function apiServerFlags(
  { folder, etcdUrl, port, token }: { folder: string; etcdUrl: string; port: number; token: string },
  { audit = false, featureGates = {}, apiServerFlags: further = [] }: ApiServerOptions,
): string[] {
  const key = writeServiceAccountKey(folder);
  writeFileSync(join(folder, "tokens.csv"), `${token},e2e-admin,e2e-admin,system:masters\n`);
  writeFileSync(join(folder, "audit-policy.json"), JSON.stringify(auditPolicy));
  const gates = Object.entries(featureGates).map(([gate, isOn]) => `${gate}=${isOn}`);
  return [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    `--cert-dir=${folder}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--disable-admission-plugins=ServiceAccount",
    ...(audit ? [`--audit-policy-file=${join(folder, "audit-policy.json")}`, "--audit-log-mode=blocking"] : []),
    ...(audit ? [`--audit-log-path=${join(folder, "audit.log")}`] : []),
    ...(gates.length > 0 ? [`--feature-gates=${gates.join(",")}`] : []),
    ...further,
  ];
}

/** Starts kube-apiserver and waits until it is ready. It signs its own certificate, which is then also its authority. */
export async function startApiServer(
  name: string,
  folder: string,
  flags: readonly string[],
  { url, token }: { url: string; token: string },
): Promise<{ child: Child; server: Server }> {
  const child = await startProcess({ name: `${name}-apiserver`, command: binary("kube-apiserver"), args: flags });
  const server = (): Server => ({ url, token, ca: readFileSync(join(folder, "apiserver.crt"), "utf8") });
  await untilReady(child, async () => (await apiOf(server()).raw({ path: "/readyz" })).status === 200);
  copyFileSync(join(folder, "apiserver.crt"), join(folder, "tls.crt"));
  copyFileSync(join(folder, "apiserver.key"), join(folder, "tls.key"));
  return { child, server: server() };
}
