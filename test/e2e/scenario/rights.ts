import { type FunctionName, neededGrants } from "../../knative/needs.ts";
import { kindsOf, pluralOf } from "../../knative/providers.ts";
import type { Api } from "../harness/api-types.ts";
import { valueAt } from "../harness/objects.ts";
import { type Account, userOf } from "../harness/service-account.ts";

/** Whether an account may do in a namespace what a grant ("verb group/plural named x") says, as the API server itself has it. */
export async function mayDo(api: Api, account: Account, grant: string, namespace: string): Promise<boolean> {
  const [, verb, group, resource, name] = /^(\S+) ([^/]*)\/(\S+?)(?: named (\S+))?$/.exec(grant) ?? [];
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: userOf(account),
      groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`, "system:authenticated"],
      resourceAttributes: { verb, group, resource, namespace, name },
    },
  };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { status, body } = await api.raw({ method: "POST", path, body: JSON.stringify(review) });
  if (status !== 201) throw new Error(`${grant} cannot be reviewed: ${status} ${body}`);
  return valueAt(JSON.parse(body), "status", "allowed") === true;
}

/** What a function needs where only these providers are installed. */
export function grantsWith(name: FunctionName, ...providers: readonly string[]): readonly string[] {
  const plurals = (kinds: ReturnType<typeof kindsOf>) => kinds.map((kind) => `${kind.group}/${pluralOf(kind)}`);
  const provided = plurals(kindsOf(...providers));
  const others = plurals(kindsOf()).filter((one) => !provided.includes(one));
  return neededGrants(name).filter((grant) => !others.some((one) => grant.includes(one)));
}
