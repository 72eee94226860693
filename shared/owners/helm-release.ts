import type { Cluster } from "../cluster/cluster.ts";
import { label } from "../marks/marks.ts";
import { isTerminating, type KubeObject, keyOf, keyText } from "../objects/object.ts";
import { answer, type Lists, unknown } from "./answer.ts";
import type { Owner } from "./owner.ts";

const SECRET = { group: "", kind: "Secret" };

/** What a label may say of a revision (helm pkg/release/common/status.go); any other text is not repeated. */
const UNSETTLED: ReadonlySet<string> = new Set([
  "unknown",
  "uninstalled",
  "superseded",
  "failed",
  "uninstalling",
  "pending-install",
  "pending-upgrade",
  "pending-rollback",
]);

/**
 * The manifest of a Helm release: of its newest revision, which must be the deployed one. While a later one is pending,
 * failed or being uninstalled, what is deployed is open.
 *
 * Helm keeps each revision in a Secret labelled with owner, name, status and version (helm pkg/storage/driver/secrets.go,
 * the same in 3 and 4). With another storage driver there is none, and nothing is known.
 */
export async function readRelease(cluster: Cluster, { namespace = "", name }: Owner): Promise<Lists> {
  const secrets = await cluster.list(SECRET, { namespace, label: `owner=helm,name=${name}`, metadataOnly: true });
  // The name is whatever an annotation says: a comma in it would have made another selector.
  const revisions = secrets.filter((one) => label(one, "owner") === "helm" && label(one, "name") === name);
  if (revisions.length === 0) return unknown("no-record");
  if (revisions.some((one) => Number.isNaN(versionOf(one)))) return unknown("corrupt");
  const newest = revisions.reduce((a, b) => (versionOf(a) > versionOf(b) ? a : b));
  const status = label(newest, "status");
  if (status !== undefined && UNSETTLED.has(status)) return unknown(status);
  if (status !== "deployed") return unknown("corrupt");
  if (isTerminating(newest)) return unknown("terminating");
  const secret = await cluster.get(keyOf(newest));
  if (secret === undefined) return unknown("unsettled");
  // What reads YAML is loaded only where a release is read at all.
  const { listedTemplates } = await import("./helm-manifest.ts");
  const listed = await listedTemplates(secret, { name, namespace, version: versionOf(newest) });
  if (listed === undefined) return unknown("corrupt");
  return (template) => answer(listed.has(keyText(keyOf(template))));
}

function versionOf(secret: KubeObject): number {
  const version = label(secret, "version") ?? "";
  return /^\d+$/.test(version) ? Number(version) : Number.NaN;
}
