import type { AdoptionFacts, Reason } from "../facts.ts";
import { grantingCommand } from "./granting.ts";

/** The secrets that a control plane makes anew, with another CA, where it does not find them (by suffix). */
const SUFFIXES = ["ca", "etcd", "sa", "proxy"];

export function secretNames(clusterName: string): readonly string[] {
  return SUFFIXES.map((suffix) => `${clusterName}-${suffix}`);
}

/** The secrets that are not there, and the command that lets this function see whether they are. */
export function secretReasons(facts: AdoptionFacts): readonly Reason[] {
  const { secrets, controlPlane } = facts;
  const namespace = controlPlane.metadata.namespace ?? "";
  const missing = [...secrets]
    .filter(([, state]) => state === "missing")
    .map(([name]): Reason => {
      const message = `Secret ${name} is missing; the control plane would make a new one that the running cluster does not trust.`;
      return { reason: "secret-missing", message, object: { group: "", kind: "Secret", namespace, name } };
    });
  const isUnreadable = [...secrets.values()].includes("unreadable");
  return isUnreadable ? [...missing, unreadable(facts, namespace)] : missing;
}

/** The command by which a person lets a service account (`namespace:name`) see whether a cluster's secrets are there. */
export function secretsCommand(namespace: string, clusterName: string, serviceAccount: string): string {
  const names = secretNames(clusterName);
  return grantingCommand({
    namespace,
    role: `capi-caretaker-${clusterName}`,
    resource: "secrets",
    names,
    serviceAccount,
  });
}

function unreadable({ clusterName, serviceAccount }: AdoptionFacts, namespace: string): Reason {
  const command = secretsCommand(namespace, clusterName, serviceAccount);
  const message = `Whether the cluster's CA secrets are there cannot be seen (never their data). To grant that: ${command}`;
  return { reason: "secrets-unreadable", message };
}
