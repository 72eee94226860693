import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import type { Server } from "./http.ts";
import { binary } from "./paths.ts";
import { type Child, startProcess, untilReady } from "./process.ts";

export interface ApiServerOptions {
  /** Records every request in the audit log, not only those of service accounts and the event source's watches. */
  audit?: boolean;
  featureGates?: Record<string, boolean>;
  /** Further flags of kube-apiserver. */
  apiServerFlags?: readonly string[];
}

/** Who the event source logs in as, so that its watches can be told from those of others. */
export const sourceUser = "e2e-source";

/** The smallest record from which requests can be counted: who, what, with which answer. */
function auditPolicy(isEverything: boolean): object {
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      { level: "Metadata", users: [sourceUser], verbs: ["watch"] },
      { level: "Metadata", userGroups: ["system:serviceaccounts"] },
      { level: isEverything ? "Metadata" : "None" },
    ],
  };
}

function writeServiceAccountKey(folder: string): string {
  const file = join(folder, "service-account.pem");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(file, privateKey.export({ type: "pkcs1", format: "pem" }));
  return file;
}

/** Writes what kube-apiserver needs into the folder and returns its flags. Each of the tokens makes a cluster administrator. */
export function apiServerFlags(
  { folder, etcdUrl, port, tokens }: { folder: string; etcdUrl: string; port: number; tokens: Record<string, string> },
  { audit = false, featureGates = {}, apiServerFlags: further = [] }: ApiServerOptions,
): string[] {
  const key = writeServiceAccountKey(folder);
  const logins = Object.entries(tokens).map(([user, token]) => `${token},${user},${user},system:masters\n`);
  writeFileSync(join(folder, "tokens.csv"), logins.join(""));
  writeFileSync(join(folder, "audit-policy.json"), JSON.stringify(auditPolicy(audit)));
  const gates = Object.entries(featureGates).map(([gate, isOn]) => `${gate}=${isOn}`);
  return [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    // Only the endpoints of the Service `kubernetes` would use it; without it a network with no default route is refused.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--cert-dir=${folder}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--disable-admission-plugins=ServiceAccount",
    `--audit-policy-file=${join(folder, "audit-policy.json")}`,
    `--audit-log-path=${join(folder, "audit.log")}`,
    "--audit-log-mode=blocking",
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
