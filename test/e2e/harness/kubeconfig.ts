import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import type { Server } from "./http.ts";
import { valueAt } from "./objects.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The text of a kubeconfig with one context, for one server and whatever credentials it holds. */
export function kubeconfigOf({ url, ca, cert, key, token }: Server): string {
  const user = {
    ...(token === undefined ? {} : { token }),
    ...(cert && key ? { "client-certificate-data": base64(cert), "client-key-data": base64(key) } : {}),
  };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "e2e",
    contexts: [{ name: "e2e", context: { cluster: "e2e", user: "e2e", namespace: "default" } }],
    clusters: [{ name: "e2e", cluster: { server: url, ...(ca ? { "certificate-authority-data": base64(ca) } : {}) } }],
    users: [{ name: "e2e", user }],
  });
}

/** Writes a kubeconfig that only its owner may read, and returns its path. */
export function writeKubeconfig(path: string, server: Server): string {
  writeFileSync(path, kubeconfigOf(server), { mode: 0o600 });
  return path;
}

/**
 * Reads the current context of a kubeconfig. Understands inline and file certificates and tokens, no exec plugins: throws for
 * a file that names no server.
 */
export function readKubeconfig(path: string): Server {
  const config: unknown = parse(readFileSync(path, "utf8"));
  const named = (list: string, name: unknown): unknown => {
    const entries = valueAt(config, list);
    return Array.isArray(entries) ? entries.find((entry) => valueAt(entry, "name") === name) : undefined;
  };
  const context = valueAt(named("contexts", valueAt(config, "current-context")), "context");
  const cluster = valueAt(named("clusters", valueAt(context, "cluster")), "cluster");
  const user = valueAt(named("users", valueAt(context, "user")), "user");
  const pem = (holder: unknown, field: string): string | undefined => {
    const data = valueAt(holder, `${field}-data`);
    if (typeof data === "string") return Buffer.from(data, "base64").toString("utf8");
    const file = valueAt(holder, field);
    return typeof file === "string" ? readFileSync(file, "utf8") : undefined;
  };
  const url = valueAt(cluster, "server");
  if (typeof url !== "string") throw new Error(`${path}: the current context names no cluster with a server`);
  const [ca, cert, key] = [
    pem(cluster, "certificate-authority"),
    pem(user, "client-certificate"),
    pem(user, "client-key"),
  ];
  const token = valueAt(user, "token");
  return {
    url: url.replace(/\/$/, ""),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(typeof token === "string" ? { token } : {}),
  };
}
