import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { parseDocument } from "yaml";
import { z } from "zod";
import { isTemplateKind } from "../objects/kinds.ts";
import { groupOf, keyText, type ObjectKey } from "../objects/object.ts";
import { isRecord, stringAt } from "../objects/path.ts";

/** Far more than a Secret can hold; what unpacks to more was made to. */
const MOST_BYTES = 32 * 1024 * 1024;
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);

const Stored = z.looseObject({
  type: z.literal("helm.sh/release.v1"),
  data: z.looseObject({ release: z.string() }),
});
const Release = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  version: z.number(),
  info: z.looseObject({ status: z.literal("deployed") }),
  manifest: z.string(),
});

/** Which revision of which release a Secret must hold. */
export interface Revision {
  readonly name: string;
  readonly namespace: string;
  readonly version: number;
}

/**
 * The templates in the manifest of a Helm release, each as its key's text; undefined where the Secret holds anything else
 * than this revision, deployed. Nothing else of it is kept: it holds the values.
 *
 * The Secret's `release` is base64 of gzipped JSON, or of plain JSON (helm pkg/storage/driver/util.go, decodeRelease).
 */
export async function listedTemplates(secret: unknown, revision: Revision): Promise<ReadonlySet<string> | undefined> {
  try {
    const packed = Buffer.from(Buffer.from(Stored.parse(secret).data.release, "base64").toString(), "base64");
    const isGzip = packed.subarray(0, GZIP.length).equals(GZIP);
    const json = isGzip ? await promisify(gunzip)(packed, { maxOutputLength: MOST_BYTES }) : packed;
    const release = Release.parse(JSON.parse(json.toString()));
    const { name, namespace, version } = release;
    if (name !== revision.name || namespace !== revision.namespace || version !== revision.version) return undefined;
    // One document at a time: the whole of a large chart as one tree would not fit in a small container.
    const documents = release.manifest.split(/^---(?=\s|$)/m);
    const keys = documents.flatMap((text) => keysIn(readDocument(text), namespace));
    return new Set(keys.filter(isTemplateKind).map(keyText));
  } catch {
    // Whatever is wrong with it, the error may quote it, and it holds secrets.
    return undefined;
  }
}

function readDocument(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent", prettyErrors: false });
  if (document.errors.length > 0) throw new Error("no YAML");
  return document.toJS({ maxAliasCount: 100 });
}

/** An item of a typed list leaves out what all of them share (k8s.io/apimachinery unstructured/helpers.go, decodeToList). */
function itemOf(item: unknown, apiVersion: string, listKind: string): unknown {
  const kind = listKind.replace(/List$/, "");
  return isRecord(item) && kind !== "" && !item.kind && !item.apiVersion ? { ...item, apiVersion, kind } : item;
}

/** The keys of a document's objects; an object without a namespace goes to that of the release. Throws for what is no object. */
function keysIn(document: unknown, home: string): readonly ObjectKey[] {
  if (document === null || document === undefined) return [];
  const apiVersion = stringAt(document, "apiVersion");
  const kind = stringAt(document, "kind");
  if (!isRecord(document) || apiVersion === undefined || kind === undefined) throw new Error("no object");
  if (Array.isArray(document.items)) {
    return document.items.flatMap((item) => keysIn(itemOf(item, apiVersion, kind), home));
  }
  const name = stringAt(document, "metadata.name");
  if (name === undefined) throw new Error("no name");
  return [{ group: groupOf(apiVersion), kind, namespace: stringAt(document, "metadata.namespace") || home, name }];
}
