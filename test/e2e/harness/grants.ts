import type { Api } from "./api-types.ts";
import type { Request } from "./audit.ts";
import { type KubeObject, refOf } from "./objects.ts";
import { type Account, userOf } from "./service-account.ts";

const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" };

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

function grantsIn(role: KubeObject | undefined, place: string): readonly string[] {
  return ((role?.rules ?? []) as Rule[]).flatMap(({ verbs, apiGroups = [], resources = [], resourceNames }) => {
    const names = resourceNames?.map((name) => ` named ${name}`) ?? [""];
    const what = apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`));
    return verbs.flatMap((verb) => what.flatMap((one) => names.map((name) => `${verb} ${one}${name}${place}`)));
  });
}

/**
 * What the roles bound to a service account itself grant it at this moment, as `verb group/resource`, with ` named x` and
 * ` in <namespace>` where that is a limit.
 */
export async function grantsOf(api: Api, account: Account): Promise<ReadonlySet<string>> {
  const bindings = [
    ...(await api.list({ ...rbac, kind: "ClusterRoleBinding" })),
    ...(await api.list({ ...rbac, kind: "RoleBinding" })),
  ].filter(({ subjects }) =>
    ((subjects ?? []) as Partial<Account & { kind: string }>[]).some(
      ({ kind, namespace, name }) =>
        kind === "ServiceAccount" && namespace === account.namespace && name === account.name,
    ),
  );
  const grants = bindings.map(async (binding) => {
    const { kind, name } = binding.roleRef as { kind: string; name: string };
    const { namespace } = refOf(binding);
    const scope = kind === "Role" && namespace !== undefined ? { namespace } : {};
    const role = await api.get({ ...rbac, kind, name, ...scope });
    return grantsIn(role, namespace === undefined ? "" : ` in ${namespace}`);
  });
  return new Set((await Promise.all(grants)).flat());
}

/** Which of these grants a service account's requests made use of, and what else it was let do: paths by themselves, or rights of everyone. */
export function usesOf(
  requests: readonly Request[],
  account: Account,
  granted: ReadonlySet<string>,
): { used: ReadonlySet<string>; others: ReadonlySet<string> } {
  const used = new Set<string>();
  const others = new Set<string>();
  for (const { user, verb, requestURI, objectRef, annotations } of requests) {
    if (user.username !== userOf(account) || annotations?.["authorization.k8s.io/decision"] !== "allow") continue;
    const { apiGroup = "", resource, subresource, namespace = "", name = "" } = objectRef ?? {};
    if (resource === undefined) {
      others.add(`${verb} ${requestURI.split("?")[0]}`);
      continue;
    }
    const bare = `${verb} ${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
    const ways = [` named ${name} in ${namespace}`, ` in ${namespace}`, ` named ${name}`, ""].map((one) => bare + one);
    const way = ways.find((one) => granted.has(one));
    if (way === undefined) others.add(bare);
    else used.add(way);
  }
  return { used, others };
}
