import { COMPONENTS } from "../../knative/manifests.ts";
import type { Api } from "./api-types.ts";
import { kustomizedTogether } from "./kustomize.ts";
import { type Fields, type KubeObject, refOf, valueAt } from "./objects.ts";
import { eventually } from "./wait.ts";

/** What says who may do what, in the order in which it can be applied. */
const accessKinds = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

let everyProvider: readonly KubeObject[] | undefined;

/** Namespace, accounts and rights out of what kustomize makes of the base and every provider. */
export function shippedAccess(): readonly KubeObject[] {
  everyProvider ??= accessIn(kustomizedTogether(["base"], newestComponents()) as readonly KubeObject[]);
  return everyProvider;
}

/** The objects among these that say who may do what. */
export function accessIn(objects: readonly KubeObject[]): readonly KubeObject[] {
  return accessKinds.flatMap((kind) => objects.filter((object) => object.kind === kind));
}

/** Applies accounts and rights, and waits until every ClusterRole has the rules that others add to it by label. */
export async function installAccess(api: Api, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await api.apply(object);
  const roles = objects.filter(({ kind }) => kind === "ClusterRole");
  for (const role of roles.filter(({ aggregationRule }) => aggregationRule !== undefined)) {
    const wanted = roles.filter((one) => isAddedTo(role, one)).flatMap(rulesOf);
    await eventually(`the rules of ${role.metadata.name} to be added up`, async () => {
      const given = rulesOf(await api.get(refOf(role)));
      return wanted.every((rule) => given.includes(rule));
    });
  }
}

// Two versions of a provider bring the same rights, and kustomize takes nothing twice.
function newestComponents(): readonly string[] {
  return [...new Map(COMPONENTS.toSorted().map((folder) => [folder.replace(/-v\w+$/, ""), folder])).values()];
}

function isAddedTo(role: KubeObject, { metadata: { labels = {} } }: KubeObject): boolean {
  const selectors = valueAt(role, "aggregationRule", "clusterRoleSelectors") as { matchLabels: Fields }[];
  return selectors.some(({ matchLabels }) =>
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value),
  );
}

function rulesOf(role: KubeObject | undefined): readonly string[] {
  const rules = (role?.rules ?? []) as Fields[];
  return rules.map(({ apiGroups, resources, resourceNames, verbs }) =>
    JSON.stringify([apiGroups, resources, resourceNames, verbs]),
  );
}
