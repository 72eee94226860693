import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loadLogin } from "../../../../shared/cluster/kubernetes/load-login.ts";
import { InputError } from "../../../../shared/setup/input-error.ts";
import { kubeconfigFor, TOKEN, temporaryFile, temporaryFolder } from "./fake-api.ts";

afterEach(() => vi.unstubAllEnvs());

async function refusal(kubeconfig: string | undefined, root?: string): Promise<string> {
  const refused = await loadLogin(kubeconfig, root).catch((error) => error);
  expect(refused).toBeInstanceOf(InputError);
  return refused.message;
}

/** The root of a pod's file system with the files of its service account. */
function podWith(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder();
  const folder = join(root, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return root;
}

function inPod(host = "10.96.0.1"): void {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", host);
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
}

describe("without KUBECONFIG", () => {
  it.each<readonly [string, () => void, () => string]>([
    ["outside a cluster", () => inPod(""), () => podWith({ token: TOKEN })],
    ["in a pod without a token", () => inPod(), () => podWith({})],
  ])("%s says what to set", async (_, environment, root) => {
    environment();
    expect(await refusal(undefined, root())).toMatch(/set KUBECONFIG to .*, or SNAPSHOT to /);
  });

  it.each([
    ["10.96.0.1", "https://10.96.0.1/"],
    ["fd00::1", "https://[fd00::1]/"],
  ])("in a pod the service account's token of this moment counts, at %s", async (host, server) => {
    inPod(host);
    const root = podWith({ token: `${TOKEN}\n`, "ca.crt": "authority" });
    const login = await loadLogin(undefined, root);
    expect(login.server.href).toBe(server);
    expect(await login.options()).toEqual({ ca: "authority", headers: { authorization: `Bearer ${TOKEN}` } });
    writeFileSync(join(root, "var/run/secrets/kubernetes.io/serviceaccount/token"), "next");
    expect(await login.options()).toMatchObject({ headers: { authorization: "Bearer next" } });
  });
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
  ])("%s", async (_, file, expected) => {
    const message = await refusal(file());
    expect(message).toMatch(expected);
    expect(message).not.toContain(TOKEN);
    expect(message).not.toContain("\n");
  });
});

it("takes several files as kubectl does: what each adds, the first one's context", async () => {
  const other = temporaryFile({
    "current-context": "other",
    contexts: [{ name: "other", context: { cluster: "other", user: "other" } }],
    clusters: [{ name: "other", cluster: { server: "https://other" } }],
    users: [{ name: "other", user: {} }],
  });
  const here = kubeconfigFor("http://127.0.0.1:1");
  const split = temporaryFile({ "current-context": "other" });
  const serverOf = async (...files: readonly string[]) => (await loadLogin(files.join(delimiter))).server.hostname;
  expect(await serverOf(here, other)).toBe("127.0.0.1");
  expect(await serverOf(other, here)).toBe("other");
  expect(await serverOf(split, other)).toBe("other");
});
