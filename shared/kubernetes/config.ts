import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
// The package's index would load every generated client of Kubernetes, of which nothing here is used.
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { InputError } from "../input-error.ts";

const SERVICE_ACCOUNT_TOKEN = "var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * Where the API server is and how to log in there: what `kubeconfig` says (one file, or several as kubectl takes them),
 * else the service account of the pod this runs in.
 *
 * Throws an InputError that says what to set; never with a part of the file, which may hold secrets.
 *
 * @param root of the pod's file system
 */
export function loadConfig(kubeconfig: string | undefined, root = "/"): KubeConfig {
  if (kubeconfig !== undefined) return fromFiles(kubeconfig);
  if (!process.env.KUBERNETES_SERVICE_HOST || !existsSync(join(root, SERVICE_ACCOUNT_TOKEN))) {
    throw new InputError(
      "no cluster is named: set KUBECONFIG to a kubeconfig file, or SNAPSHOT to a folder of YAML; inside a cluster a service account token is needed",
    );
  }
  const config = new KubeConfig();
  config.loadFromCluster(root.replace(/\/$/, ""));
  return config;
}

function fromFiles(kubeconfig: string): KubeConfig {
  const said = `KUBECONFIG is ${JSON.stringify(kubeconfig)}`;
  const config = new KubeConfig();
  for (const file of kubeconfig.split(delimiter).filter((path) => path !== "")) {
    try {
      const one = new KubeConfig();
      one.loadFromFile(file);
      config.mergeConfig(one, config.currentContext !== undefined);
    } catch (error) {
      throw new InputError(`${said}; ${file} cannot be read as a kubeconfig: ${firstLine(error)}`);
    }
  }
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new InputError(`${said}; its current-context names no cluster with a server`);
  if (cluster.server.startsWith("http:") && !cluster.skipTLSVerify) {
    throw new InputError(`${said}; its server is reached over plain http, which needs insecure-skip-tls-verify: true`);
  }
  return config;
}

// A YAML error goes on with an excerpt of the file, and a kubeconfig holds secrets.
function firstLine(error: unknown): string {
  if (error instanceof TypeError) return "it is no mapping with clusters, users and contexts";
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1).join();
}
