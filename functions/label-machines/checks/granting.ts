export interface Grant {
  readonly namespace: string;
  /** The name of the Role and of its binding. */
  readonly role: string;
  /** In the plural, of the core group. */
  readonly resource: string;
  readonly names: readonly string[];
  /** Who gets it, `namespace:name`. */
  readonly serviceAccount: string;
}

/** The command by which a person lets a service account get objects by their names, and no others. */
export function grantingCommand({ namespace, role, resource, names, serviceAccount }: Grant): string {
  const named = names.map((name) => `--resource-name=${name}`).join(" ");
  return [
    `kubectl -n ${namespace} create role ${role} --verb=get --resource=${resource} ${named}`,
    `kubectl -n ${namespace} create rolebinding ${role} --role=${role} --serviceaccount=${serviceAccount}`,
  ].join(" && ");
}
