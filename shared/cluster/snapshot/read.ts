import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { isKubeObject } from "../../objects/is-kube-object.ts";
import { KubeObject, keyOf, keyText } from "../../objects/object.ts";
import { isRecord } from "../../objects/path.ts";
import { InputError } from "../../setup/input-error.ts";
import { at, documentsIn, firstLine, type Place, reasonOf, where } from "./documents.ts";
import { frozen } from "./frozen.ts";

const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** How deep an object may be nested: some ten times as deep as any is. */
const LEVELS = 500;

/**
 * Reads every object in a folder and its subfolders: YAML, JSON and JSON lines, several documents to a file, `List`
 * objects, what `kubectl get -o yaml` prints and `clusterctl move --to-directory` writes.
 * They are frozen.
 *
 * Throws an InputError that names file, document and reason for the first thing that cannot be read.
 */
export async function readObjects(folder: string): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  const places: Place[] = [];
  const indexes = new Map<string, number>();
  for (const path of await filesIn(folder)) {
    const file = relative(folder, path);
    for (const { value, place } of documentsIn(await textOf(path, file), file)) {
      for (const item of itemsOf(value, place)) {
        const object = check(item, place);
        const key = keyText(keyOf(object));
        const before = indexes.get(key);
        if (before === undefined) {
          indexes.set(key, objects.push(object) - 1);
          places.push(place);
        } else if (!isDeepStrictEqual(objects[before], object)) {
          const there = where(places[before] ?? place);
          throw at(place, `${key} stands already, and differently, in ${there}; keep one of them`);
        }
      }
    }
  }
  return objects;
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

function* itemsOf(value: unknown, place: Place): Generator<unknown> {
  if (value === null || value === undefined) return;
  if (!isRecord(value) || typeof value.kind !== "string" || !value.kind.endsWith("List") || !("items" in value)) {
    yield value;
    return;
  }
  const { items, apiVersion, kind } = value;
  if (items === null) return;
  if (!Array.isArray(items)) throw at(place, `items of ${kind} is no list`);
  for (const item of items) {
    if (kind === "List") yield* itemsOf(item, place);
    // A typed list leaves out what all its items share.
    else yield isRecord(item) ? { apiVersion, kind: kind.slice(0, -"List".length), ...item } : item;
  }
}

// Frozen here, where a value that later steps could not walk to its end can still be told with its place.
function check(value: unknown, place: Place): KubeObject {
  const object = objectOf(value, place);
  try {
    return frozen(object, LEVELS);
  } catch (error) {
    throw at(place, reasonOf(error), error);
  }
}

function objectOf(value: unknown, place: Place): KubeObject {
  if (isKubeObject(value)) return value;
  const parsed = KubeObject.safeParse(value);
  if (parsed.success) return parsed.data;
  throw at(place, `is no Kubernetes object: ${firstLine(z.prettifyError(parsed.error).replaceAll(/\n\s*→/g, ""))}`);
}
