import { readFile } from "node:fs/promises";
import { type Document, isMap, isNode, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { InputError } from "../../shared/setup/input-error.ts";
import { CHECKS, problemsAmong, type Rule, type Rules, rulesFrom } from "./rules.ts";
import { readPrefix, redact, type UrlPrefix } from "./url.ts";

const prefix = z.string("it may be an http or https URL").transform((text, context): UrlPrefix => {
  try {
    return readPrefix(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    return z.NEVER;
  }
});

const namespace = z
  .string("it may be a namespace")
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "it may be a namespace");

const RuleEntry = z.strictObject(
  {
    from: prefix,
    to: prefix,
    namespaces: z.array(namespace, "it may be a list of namespaces").min(1, "name one or leave it out").optional(),
    check: z.enum(CHECKS, `it may be one of ${CHECKS.join(", ")}`).default("head"),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "it may be a map with from and to" : undefined) },
);

const RulesDocument = z.strictObject(
  { rules: z.array(RuleEntry, "it may be a list of maps with from and to") },
  { error: (issue) => (issue.code === "invalid_type" ? "it may be a map with the one key rules" : undefined) },
);

/** Reads a rules file. Throws an InputError that names file, line and reason for what cannot be read. */
export async function readRules(file: string): Promise<Rules> {
  return parseRules(await rulesText(file), file);
}

/** The text of a rules file, UTF-8. Throws an InputError where it cannot be read. */
export async function rulesText(file: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw new InputError(`${file}: no rules file that can be read (${messageOf(error)}); name a YAML file`, {
      cause: error,
    });
  }
}

/**
 * Reads rules from the text of a YAML file.
 *
 * @param file its name, for messages
 * @throws InputError with one line a problem: file, line, what it is and what it may be
 */
export function parseRules(text: string, file: string): Rules {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const at = (offset: number, what: string) => `${file}, line ${lines.linePos(offset).line}: ${what}`;
  const broken = document.errors.map(({ message, pos }) => at(pos[0], message));
  if (broken.length > 0) throw new InputError(broken.join("\n"));
  const value = toPlain(document, file);
  const parsed = RulesDocument.safeParse(value, { jitless: true });
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => at(offsetOf(document, issue), described(issue, value)));
    throw new InputError(problems.join("\n"));
  }
  const rules = parsed.data.rules.map(({ namespaces, ...rest }): Rule => ({ ...rest, namespaces }));
  const problems = problemsAmong(rules).map(({ index, message }) =>
    at(offsetAt(document, ["rules", index]), `rules[${index}]: ${message}`),
  );
  if (problems.length > 0) throw new InputError(problems.join("\n"));
  return rulesFrom(rules);
}

function toPlain(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new InputError(`${file}: ${messageOf(error)}`, { cause: error });
  }
}

function described(issue: z.core.$ZodIssue, root: unknown): string {
  const where = issue.path.reduce<string>((text, step) => {
    return typeof step === "number" ? `${text}[${step}]` : `${text}${text === "" ? "" : "."}${String(step)}`;
  }, "");
  if (issue.code === "unrecognized_keys") {
    return `${where || "the file"} has ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}; no such key is known`;
  }
  const held = issue.path.reduce<unknown>((value, step) => Object(value)[step], root);
  const what = held === undefined ? "is missing" : `is ${redact(JSON.stringify(held) ?? "unreadable").slice(0, 200)}`;
  return `${where || "the file"} ${what}; ${issue.message}`;
}

function offsetOf(document: Document, issue: z.core.$ZodIssue): number {
  const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
  const holder = document.getIn(issue.path, true);
  const pair = isMap(holder) ? holder.items.find(({ key }) => keys.includes(String(key))) : undefined;
  return isNode(pair?.key) ? (pair.key.range?.[0] ?? 0) : offsetAt(document, issue.path);
}

/** Where a value stands, or what holds it where it is missing. */
function offsetAt(document: Document, path: readonly PropertyKey[]): number {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  if (isNode(node)) return node.range?.[0] ?? 0;
  return path.length === 0 ? 0 : offsetAt(document, path.slice(0, -1));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
