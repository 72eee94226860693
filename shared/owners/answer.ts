import type { KubeObject } from "../objects/object.ts";

/** What an owner's record says of a template. */
export interface Answer {
  readonly lists: true | false | "unknown";
  /** In kebab-case, and never a part of the record, which may hold secrets. */
  readonly reason: string;
}

/** A record that was read: asked for one template after the other. */
export type Lists = (template: KubeObject) => Answer;

/** A record that lists or does not list. */
export function answer(lists: boolean): Answer {
  return { lists, reason: lists ? "listed" : "not-listed" };
}

/** A record that tells nothing now. */
export function unknown(reason: string): Lists {
  return () => ({ lists: "unknown", reason });
}
