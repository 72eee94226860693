import { type Manifest, ofKind } from "./manifests.ts";
import { Binding, Role } from "./schemas.ts";

const RBAC = "rbac.authorization.k8s.io";

export function rolesIn(manifests: readonly Manifest[]): readonly Role[] {
  return [...ofKind(manifests, `ClusterRole.${RBAC}`, Role), ...ofKind(manifests, `Role.${RBAC}`, Role)];
}

/**
 * What a ServiceAccount may do, one "verb group/resource" each, with "in own namespace" where a Role says so. Rules that
 * labels add to a ClusterRole count.
 */
export function grantsOf(account: string, manifests: readonly Manifest[]): readonly string[] {
  const roles = rolesIn(manifests);
  const bindings = [
    ...ofKind(manifests, `ClusterRoleBinding.${RBAC}`, Binding),
    ...ofKind(manifests, `RoleBinding.${RBAC}`, Binding),
  ].filter(({ subjects }) => subjects.some(({ kind, name }) => kind === "ServiceAccount" && name === account));
  const grants = bindings.flatMap(({ kind, roleRef }) => {
    const role = roles.find((one) => one.kind === roleRef.kind && one.metadata.name === roleRef.name);
    if (role === undefined)
      throw new Error(`${account} is bound to ${roleRef.kind} ${roleRef.name}, which is not there`);
    const where = kind === "RoleBinding" ? " in own namespace" : "";
    return aggregated(role, roles)
      .flatMap(grantsIn)
      .map((grant) => `${grant}${where}`);
  });
  return [...new Set(grants)].toSorted();
}

/** The grants of one role's own rules. */
export function grantsIn({ rules }: Role): readonly string[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) => {
    const named = resourceNames === undefined ? "" : ` named ${resourceNames.join(", ")}`;
    return verbs.flatMap((verb) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}${named}`)),
    );
  });
}

function aggregated(role: Role, roles: readonly Role[]): readonly Role[] {
  const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
  const added = roles.filter(({ kind, metadata }) => {
    if (kind !== "ClusterRole") return false;
    return selectors.some(({ matchLabels }) =>
      Object.entries(matchLabels).every(([name, value]) => metadata.labels[name] === value),
    );
  });
  return [role, ...added];
}
