import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Cluster } from "../../../../shared/cluster/cluster.ts";
import { kubernetesCluster } from "../../../../shared/cluster/kubernetes/cluster.ts";
import type { GroupKind } from "../../../../shared/objects/object.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** A status (200 where left out) with a body, sent as JSON unless it is text; or no answer at all. */
export type Answer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown }
  | "hang up"
  | "silence";

export interface FakeApi {
  readonly url: string;
  readonly asked: Asked[];
  /** How many connections were made. */
  connections(): number;
  /** The method and path of each call so far. */
  calls(): readonly string[];
}

/**
 * An HTTP server on a free port that records what it is asked; it ends with the test. Where `answer` has an aggregated
 * discovery for /apis, one group and one version of it are told from that.
 */
export async function fakeApi(answer: (asked: Asked, count: number) => Answer): Promise<FakeApi> {
  const asked: Asked[] = [];
  let connections = 0;
  const server = createServer(async (request, response) => {
    const one = await readAsked(request);
    asked.push(one);
    const groups = GROUP_PATH.test(one.path) ? answer({ ...one, path: "/apis" }, asked.length) : undefined;
    reply(response, (groups && partOf(groups, one.path)) ?? answer(one, asked.length));
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    connections: () => connections,
    calls: () => asked.map(({ method, path }) => `${method} ${path}`),
  };
}

const GROUP_PATH = /^\/apis\/[^/]+(\/[^/]+)?$/;

interface DiscoveryList {
  readonly kind: "APIGroupDiscoveryList";
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources: readonly {
        readonly resource: string;
        readonly responseKind: { readonly kind: string };
        readonly scope: string;
        readonly verbs: readonly string[];
      }[];
    }[];
  }[];
}

function isDiscoveryList(body: unknown): body is DiscoveryList {
  return typeof body === "object" && body !== null && "kind" in body && body.kind === "APIGroupDiscoveryList";
}

/** What an API server tells of one group or one version of it; undefined where `groups` is no discovery. */
function partOf(groups: Answer, path: string): Answer | undefined {
  if (typeof groups === "string" || !isDiscoveryList(groups.body)) return undefined;
  const [, , name, version] = path.split("/");
  const group = groups.body.items.find(({ metadata }) => metadata.name === name);
  const ofVersion = group?.versions.find((one) => one.version === version);
  if (group === undefined || (version !== undefined && ofVersion === undefined)) {
    return { status: 404, body: "404 page not found\n" };
  }
  if (ofVersion === undefined) {
    const versions = group.versions.map((one) => ({ groupVersion: `${name}/${one.version}`, version: one.version }));
    return { body: { kind: "APIGroup", apiVersion: "v1", name, versions, preferredVersion: versions[0] } };
  }
  const resources = ofVersion.resources.flatMap(({ resource, responseKind: { kind }, scope, verbs }) => {
    const whole = { name: resource, singularName: "", namespaced: scope === "Namespaced", kind, verbs };
    return [whole, { ...whole, name: `${resource}/status`, verbs: ["get"] }];
  });
  return { body: { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${name}/${version}`, resources } };
}

async function readAsked(request: IncomingMessage): Promise<Asked> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const { pathname, searchParams } = new URL(request.url ?? "", "http://any");
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  const { method = "", headers } = request;
  return { method, path: pathname, query: Object.fromEntries(searchParams), headers, body };
}

function reply(response: ServerResponse, answer: Answer): void {
  if (answer === "silence") return;
  if (answer === "hang up") return void response.socket?.destroy();
  response.writeHead(answer.status ?? 200, answer.headers);
  response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
}

/** A failure in the API server's own words. */
export function status(code: number, reason: string, details: Record<string, unknown> = {}): Answer {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: `${reason}!`, details };
  return { status: code, body };
}

export interface Resource extends GroupKind {
  readonly version: string;
  readonly plural: string;
  readonly scope?: "Namespaced" | "Cluster";
  readonly verbs?: readonly string[];
}

/** Aggregated discovery of resources; those of one group in the order of its preference. */
export function discovery(...resources: readonly Resource[]): Answer {
  const items = Object.entries(Object.groupBy(resources, ({ group }) => group)).map(([name, ofGroup = []]) => ({
    metadata: { name },
    versions: Object.entries(Object.groupBy(ofGroup, ({ version }) => version)).map(([version, ofVersion = []]) => ({
      version,
      freshness: "Current",
      resources: ofVersion.map(({ group, kind, plural, scope = "Namespaced", verbs = ["get", "list"] }) => ({
        resource: plural,
        responseKind: { group, version, kind },
        scope,
        verbs,
        subresources: [{ subresource: "status", responseKind: { group, version, kind }, verbs: ["get"] }],
      })),
    })),
  }));
  return { body: { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items } };
}

/** A kubeconfig file that goes with the test; plain http, as the fake speaks it. */
export function kubeconfigFor(url: string, user: Record<string, unknown> = { token: TOKEN }): string {
  return temporaryFile({
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "fake", user: "me" } }],
    clusters: [{ name: "fake", cluster: { server: url, "insecure-skip-tls-verify": true } }],
    users: [{ name: "me", user }],
  });
}

export const TOKEN = "t0p-secret";

/** A folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "capi-caretaker-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function temporaryFile(content: unknown): string {
  const file = join(temporaryFolder(), "config");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** Our cluster on a fake API; waits between attempts take no time and are noted in milliseconds. */
export async function clusterOn({ url }: FakeApi, waits: number[] = []): Promise<Cluster> {
  return kubernetesCluster({ kubeconfig: kubeconfigFor(url) }, async (milliseconds) => void waits.push(milliseconds));
}
