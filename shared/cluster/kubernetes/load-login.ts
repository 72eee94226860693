import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../setup/input-error.ts";
import type { Login } from "./login.ts";

const SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The login that `kubeconfig` describes, else that of the pod this runs in.
 *
 * Throws an InputError that says what to set where there is neither.
 *
 * @param root of the pod's file system
 */
export async function loadLogin(kubeconfig: string | undefined, root = "/"): Promise<Login> {
  // A pod needs nothing of the client library, which is most of a function's start-up time.
  if (kubeconfig !== undefined) return (await import("./kubeconfig.ts")).kubeconfigLogin(kubeconfig);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const folder = join(root, SERVICE_ACCOUNT);
  if (host && port && existsSync(join(folder, "token"))) return podLogin(host, port, folder);
  throw new InputError(
    "no cluster is named: set KUBECONFIG to a kubeconfig file, or SNAPSHOT to a folder of YAML; inside a cluster a service account token is needed",
  );
}

/** https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
function podLogin(host: string, port: string, folder: string): Login {
  return {
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    source: "the service account's token",
    async options() {
      // The kubelet puts a new token in this place before the old one expires.
      const [ca, token] = await Promise.all(["ca.crt", "token"].map((name) => readFile(join(folder, name), "utf8")));
      return { ca, headers: { authorization: `Bearer ${token?.trim()}` } };
    },
  };
}
