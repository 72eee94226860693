import { afterEach, describe, expect, it, vi } from "vitest";
import { InputError } from "../../../shared/input-error.ts";
import { loadConfig } from "../../../shared/kubernetes/config.ts";
import { kubeconfigFor, TOKEN, temporaryFile } from "./fake-api.ts";

afterEach(() => vi.unstubAllEnvs());

function refusal(kubeconfig: string | undefined): string {
  try {
    loadConfig(kubeconfig);
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return "";
}

it("outside a cluster without KUBECONFIG says what to set", () => {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "");
  expect(refusal(undefined)).toMatch(/set KUBECONFIG to .*, or SNAPSHOT to /);
});

describe("a kubeconfig that is refused names the variable, the file and the reason", () => {
  const part = (fields: object) => ({ clusters: [], users: [], contexts: [], ...fields });
  const noTls = { clusters: [{ name: "c", cluster: { server: "http://10.0.0.1" } }] };
  it.each<readonly [string, () => string, RegExp]>([
    ["not there", () => "/no/such/file", /^KUBECONFIG is "\/no\/such\/file"; .*ENOENT/],
    ["no YAML", () => temporaryFile(`a: b: c\ntoken: ${TOKEN}`), /cannot be read as a kubeconfig/],
    ["empty", () => temporaryFile(""), /the input is empty/],
    ["null", () => temporaryFile("null"), /no mapping with clusters, users and contexts/],
    ["a text", () => temporaryFile("hello"), /current-context names no cluster/],
    ["without a context", () => temporaryFile(part({})), /current-context names no cluster/],
    ["a user without a name", () => temporaryFile(part({ users: [{}] })), /users\[0\]\.name is missing/],
    [
      "plain http, which tokens are not for",
      () =>
        temporaryFile(
          part({ ...noTls, "current-context": "x", contexts: [{ name: "x", context: { cluster: "c", user: "u" } }] }),
        ),
      /insecure-skip-tls-verify/,
    ],
  ])("%s", (_, file, expected) => {
    const message = refusal(file());
    expect(message).toMatch(expected);
    expect(message).not.toContain(TOKEN);
    expect(message).not.toContain("\n");
  });
});

it("takes several files as kubectl does: what each adds, the first one's context", () => {
  const other = temporaryFile({
    "current-context": "other",
    contexts: [{ name: "other", context: { cluster: "other", user: "other" } }],
    clusters: [{ name: "other", cluster: { server: "https://other" } }],
    users: [{ name: "other", user: {} }],
  });
  const config = loadConfig(`${kubeconfigFor("http://127.0.0.1:1")}:${other}`);
  expect(config.getCurrentCluster()?.server).toBe("http://127.0.0.1:1");
  expect(config.getClusters().map(({ name }) => name)).toEqual(["fake", "other"]);
});
