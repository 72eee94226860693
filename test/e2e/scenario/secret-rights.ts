import { secretsCommand } from "../../../functions/label-machines/checks/secrets.ts";
import type { Api } from "../harness/api-types.ts";
import { functionsNamespace } from "../harness/functions.ts";
import type { KubeObject } from "../harness/objects.ts";

const rbac = { group: "rbac.authorization.k8s.io", apiVersion: "rbac.authorization.k8s.io/v1" };

/** Lets label-machines see whether the secrets of a cluster are there, the way its refusal tells a person to. */
export async function letSeeSecrets(api: Api, namespace: string, clusterName = namespace): Promise<void> {
  await runGranting(api, secretsCommand(namespace, clusterName, `${functionsNamespace}:label-machines`));
}

/** Makes what kubectl makes at `create role … && create rolebinding …`. Throws for any other command. */
export async function runGranting(api: Api, command: string): Promise<void> {
  for (const line of command.split(" && ")) await api.apply(made(line));
}

function made(line: string): KubeObject {
  const [, namespace = "", kind, name = "", options = ""] =
    /^kubectl -n (\S+) create (role|rolebinding) (\S+)(.*)$/.exec(line) ?? [];
  const values = (option: string): string[] =>
    [...options.matchAll(RegExp(` --${option}=(\\S+)`, "g"))].map(([, one = ""]) => one);
  const metadata = { name, namespace };
  if (kind === "role") {
    const rule = {
      apiGroups: [""],
      resources: values("resource"),
      resourceNames: values("resource-name"),
      verbs: values("verb"),
    };
    return { apiVersion: rbac.apiVersion, kind: "Role", metadata, rules: [rule] };
  }
  if (kind !== "rolebinding") throw new Error(`not a command that grants: ${line}`);
  const subjects = values("serviceaccount").map((one) => {
    const [of, account] = one.split(":");
    return { kind: "ServiceAccount", namespace: of, name: account };
  });
  const [role] = values("role");
  return {
    apiVersion: rbac.apiVersion,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: rbac.group, kind: "Role", name: role },
    subjects,
  };
}
