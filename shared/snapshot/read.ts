import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { InputError } from "../input-error.ts";
import { isKubeObject } from "../is-kube-object.ts";
import { KubeObject, keyOf, keyText } from "../object.ts";
import { isRecord } from "../path.ts";

const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

interface Place {
  readonly file: string;
  /** Counted from 1 within the file. */
  readonly document: number;
}

/**
 * Reads every object in a folder and its subfolders: YAML and JSON, several documents to a file, `List` objects,
 * what `kubectl get -o yaml` prints and `clusterctl move --to-directory` writes.
 *
 * Throws an InputError that names file, document and reason for the first thing that cannot be read.
 */
export async function readObjects(folder: string): Promise<readonly KubeObject[]> {
  const seen = new Map<string, { readonly object: KubeObject; readonly place: Place }>();
  for (const path of await filesIn(folder)) {
    const file = relative(folder, path);
    for (const { object, place } of objectsIn(await textOf(path, file), file)) {
      const key = keyText(keyOf(object));
      const before = seen.get(key);
      if (before !== undefined && !isDeepStrictEqual(before.object, object)) {
        throw at(place, `${key} stands already, and differently, in ${where(before.place)}; keep one of them`);
      }
      seen.set(key, { object, place });
    }
  }
  return [...seen.values()].map(({ object }) => object);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory() && EXTENSIONS.has(extname(entry.name).toLowerCase()));
    if (files.length > 0) return files.map((entry) => join(entry.parentPath, entry.name)).sort();
  } catch (error) {
    throw new InputError(`${folder}: no folder that can be read (${reasonOf(error)})`, { cause: error });
  }
  throw new InputError(`${folder}: holds no .yaml, .yml or .json file; name the folder of a dump`);
}

async function textOf(path: string, file: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    throw new InputError(`${file}: cannot be read as UTF-8 text (${reasonOf(error)})`, { cause: error });
  }
}

function* objectsIn(text: string, file: string): Generator<{ object: KubeObject; place: Place }> {
  const documents = parseAllDocuments(text, { logLevel: "error" });
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const place = { file, document: index + 1 };
    const [problem] = document.errors;
    if (problem !== undefined) throw at(place, firstLine(problem.message));
    for (const item of itemsOf(toJson(document, place), place)) yield { object: check(item, place), place };
  }
}

function toJson(document: { toJS(options: { maxAliasCount: number }): unknown }, place: Place): unknown {
  try {
    const value = document.toJS({ maxAliasCount: 1000 });
    // An anchor can contain itself, and nothing after this could walk such a value to its end.
    JSON.stringify(value);
    return value;
  } catch (error) {
    throw at(place, reasonOf(error), error);
  }
}

function itemsOf(value: unknown, place: Place): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (!isRecord(value) || typeof value.kind !== "string" || !value.kind.endsWith("List") || !("items" in value)) {
    return [value];
  }
  const { items, apiVersion, kind } = value;
  if (items === null) return [];
  if (!Array.isArray(items)) throw at(place, `items of ${kind} is no list`);
  if (kind === "List") return items.flatMap((item) => itemsOf(item, place));
  // A typed list leaves out what all its items share.
  return items.map((item) => (isRecord(item) ? { apiVersion, kind: kind.slice(0, -"List".length), ...item } : item));
}

function check(value: unknown, place: Place): KubeObject {
  if (isKubeObject(value)) return value;
  const parsed = KubeObject.safeParse(value);
  if (parsed.success) return parsed.data;
  throw at(place, `is no Kubernetes object: ${firstLine(z.prettifyError(parsed.error).replaceAll(/\n\s*→/g, ""))}`);
}

function at(place: Place, reason: string, cause?: unknown): InputError {
  return new InputError(`${where(place)}: ${reason}`, { cause });
}

function where({ file, document }: Place): string {
  return `${file}, document ${document}`;
}

function reasonOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}

function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? text).replace(/:$/, "");
}
