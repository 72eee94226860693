import { z } from "zod";
import { annotation } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";

/** JSON: path → the URL that stood there before us. */
export const REWRITTEN_FROM = "capi-caretaker.io/rewritten-from";
/** JSON: what we wrote, and until it is given back to whom. Ours alone, of no use to a person. */
export const REWRITE_RECORD = "capi-caretaker.io/rewrite-record";
/** JSON: the reverts seen lately, and since when we stopped. */
export const REWRITE_CONTESTED = "capi-caretaker.io/rewrite-contested";

export const OUR_ANNOTATIONS = [REWRITTEN_FROM, REWRITE_RECORD, REWRITE_CONTESTED] as const;

const Originals = z.record(z.string(), z.string());
const Fields = z.record(z.string(), z.unknown());

/** A manager that owned fields which we wrote, and those fields in the notation of managedFields. */
const FormerOwner = z.object({
  manager: z.string(),
  operation: z.string(),
  apiVersion: z.string(),
  subresource: z.string().optional(),
  fields: Fields,
});

const RewriteRecord = z.object({
  /** Path → the URL we wrote. */
  wrote: z.record(z.string(), z.string()),
  /** While the fields are still ours; taken away with the patch that gives them back. */
  owners: z.array(FormerOwner).optional(),
});

const Contest = z.object({
  /** RFC 3339, oldest first. */
  reverts: z.array(z.string()),
  /** The field manager of the last one. */
  by: z.string(),
  /** The hash of the rules it happened under. */
  rules: z.string(),
  /** RFC 3339; there once we stopped. */
  stoppedAt: z.string().optional(),
});

export type FormerOwner = z.infer<typeof FormerOwner>;
export type RewriteRecord = z.infer<typeof RewriteRecord>;
export type Contest = z.infer<typeof Contest>;

/** Path → the URL that stood there before us; empty where nothing can be read. */
export function rewrittenFrom(object: KubeObject): Readonly<Record<string, string>> {
  return read(object, REWRITTEN_FROM, Originals) ?? {};
}

/** What we wrote, undefined where nothing can be read. */
export function recordOf(object: KubeObject): RewriteRecord | undefined {
  return read(object, REWRITE_RECORD, RewriteRecord);
}

/** The reverts of this object, undefined where there are none or they cannot be read. */
export function contestOf(object: KubeObject): Contest | undefined {
  return read(object, REWRITE_CONTESTED, Contest);
}

function read<Shape>(object: KubeObject, name: string, shape: z.ZodType<Shape>): Shape | undefined {
  const text = annotation(object, name);
  if (text === undefined) return undefined;
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    // A person may have edited it; then it says nothing.
    return undefined;
  }
}
