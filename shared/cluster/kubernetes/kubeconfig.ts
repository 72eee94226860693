import { delimiter } from "node:path";
// The package's index would load every generated client of Kubernetes, of which nothing here is used.
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { InputError } from "../../setup/input-error.ts";
import type { Login } from "./login.ts";

/**
 * What a kubeconfig says (one file, or several as kubectl takes them): token, password, client certificate, exec plugin.
 *
 * Throws an InputError with the reason, never with a part of the file, which may hold secrets.
 */
export function kubeconfigLogin(kubeconfig: string): Login {
  const config = read(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw refusal(kubeconfig, "its current-context names no cluster with a server");
  if (cluster.server.startsWith("http:") && !cluster.skipTLSVerify) {
    throw refusal(kubeconfig, "its server is reached over plain http, which needs insecure-skip-tls-verify: true");
  }
  const plugin: unknown = config.getCurrentUser()?.exec?.command;
  return {
    server: new URL(cluster.server),
    source: typeof plugin === "string" ? `the exec plugin ${plugin}` : "the files that the kubeconfig names",
    async options() {
      const options = {};
      await config.applyToHTTPSOptions(options);
      // The library's agents keep no connection alive, but they know how to go through a proxy.
      return cluster.proxyUrl ? options : { ...options, agent: undefined };
    },
  };
}

function read(kubeconfig: string): KubeConfig {
  const config = new KubeConfig();
  for (const file of kubeconfig.split(delimiter).filter((path) => path !== "")) {
    try {
      const one = new KubeConfig();
      one.loadFromFile(file);
      config.mergeConfig(one, config.currentContext !== undefined);
    } catch (error) {
      throw refusal(kubeconfig, `${file} cannot be read as a kubeconfig: ${firstLine(error)}`);
    }
  }
  return config;
}

function refusal(kubeconfig: string, reason: string): InputError {
  return new InputError(`KUBECONFIG is ${JSON.stringify(kubeconfig)}; ${reason}`);
}

// A YAML error goes on with an excerpt of the file, and a kubeconfig holds secrets.
function firstLine(error: unknown): string {
  if (error instanceof TypeError) return "it is no mapping with clusters, users and contexts";
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1).join();
}
