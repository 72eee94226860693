import { z } from "zod";
import { InputError } from "./input-error.ts";

/** Longer ones are a slip, and added to a date they may lead out of the calendar. */
const LONGEST = Temporal.Duration.from({ hours: 24 * 366 }).total("milliseconds");

const duration = z.string().transform((text, context) => {
  try {
    const parsed = Temporal.Duration.from(text);
    const milliseconds = parsed.total("milliseconds");
    if (milliseconds >= 0 && milliseconds <= LONGEST) return Temporal.Duration.from({ milliseconds });
  } catch {
    // Years and months have no fixed length, so they are refused like any other text.
  }
  context.addIssue({
    code: "custom",
    message: "an ISO 8601 duration of days or less, such as PT10M, not negative and within a year",
  });
  return z.NEVER;
});

const wholeNumber = (least: number, most: number) => {
  const said = `a whole number from ${least} to ${most}`;
  return z.string().regex(/^\d+$/, said).transform(Number).pipe(z.number().min(least, said).max(most, said));
};

const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const RECORDS = ["helm", "flux", "argocd"] as const;

/** An owner whose own record may tell that a template is no longer part of what it deploys. */
export type RecordTool = (typeof RECORDS)[number];

/** Several values in one variable, with commas between them; empty means none. */
const listed = <Item extends string>(isItem: (text: string) => text is Item, said: string) =>
  z.string().transform((text, context) => {
    const items = text.split(",").map((item) => item.trim());
    if (text.trim() === "") return [];
    if (items.every(isItem)) return items;
    context.addIssue({ code: "custom", message: said });
    return z.NEVER;
  });

const isNamespaceName = (text: string): text is string => NAMESPACE_NAME.test(text);
const isRecordTool = (text: string): text is RecordTool => RECORDS.some((tool) => tool === text);
const isSubject = (text: string): text is string => /^\S+$/.test(text);

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** The environment as it may be. README's settings table says the same for people. */
const Variables = z.object({
  PORT: wholeNumber(0, 65535).prefault("8080"),
  SNAPSHOT: z.string().min(1, "the path of a folder").optional(),
  KUBECONFIG: z.string().min(1, "the path of a kubeconfig").optional(),
  DRY_RUN: z.enum(["true", "false"], '"true" or "false"').default("false"),
  COLLECT_GRACE: duration.prefault("PT10M"),
  RENEW_AFTER: duration.prefault("PT2M"),
  REWRITE_RULES: z.string().min(1, "the path of a rules file").optional(),
  MAX_EVENT_BYTES: wholeNumber(1024, 64 * 1024 * 1024).prefault(String(4 * 1024 * 1024)),
  POD_NAMESPACE: z.string().regex(NAMESPACE_NAME, "a namespace name").default("capi-caretaker"),
  NAMESPACES: listed(isNamespaceName, "namespace names with commas between them").prefault(""),
  RETIRE_ORPHANS: listed(isRecordTool, `some of ${RECORDS.join(", ")}, with commas between them`).prefault(""),
  OIDC_AUDIENCE: z.string().min(1, "the audience of the tokens that a Trigger sends").optional(),
  OIDC_SUBJECTS: listed(isSubject, "service accounts' user names with commas between them").prefault(""),
  LOG_LEVEL: z.enum(LEVELS, `one of ${LEVELS.join(", ")}`).default("info"),
});

/** Half of a check of callers would be none. */
const Environment = Variables.superRefine((read, context) => {
  const refuse = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
  if (read.OIDC_AUDIENCE === undefined && read.OIDC_SUBJECTS.length > 0) {
    refuse("OIDC_SUBJECTS", "set only together with OIDC_AUDIENCE");
  }
  if (read.OIDC_AUDIENCE !== undefined && read.OIDC_SUBJECTS.length === 0) {
    refuse("OIDC_AUDIENCE", "set only together with OIDC_SUBJECTS, which names whose tokens are taken");
  }
});

/** Who may send events: the audience a token must be for, and the user names it may be of. */
export interface Callers {
  readonly audience: string;
  readonly subjects: readonly string[];
}

/** Everything a person can set, checked once at the start. */
export interface Settings {
  readonly port: number;
  readonly snapshot: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly dryRun: boolean;
  /** How long a deletion that would be ours waits after a template was last needed. */
  readonly collectGrace: Temporal.Duration;
  /** How long a template stays retired before it is renewed. */
  readonly renewAfter: Temporal.Duration;
  /** The rules file of rewrite-urls. */
  readonly rewriteRules: string | undefined;
  readonly maxEventBytes: number;
  /** Where this program runs and may keep copies. */
  readonly ownNamespace: string;
  /** The only namespaces that are looked at; all of them when none is named. */
  readonly namespaces: readonly string[];
  /** Whose records may retire a template that they no longer list. */
  readonly retireOrphans: readonly RecordTool[];
  /** Undefined: whoever reaches the port may. */
  readonly callers: Callers | undefined;
  readonly logLevel: (typeof LEVELS)[number];
}

/** Reads settings from environment variables. Throws an InputError naming each bad one, what it holds and may hold. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  // Compiling a check takes longer than making it once.
  const parsed = Environment.safeParse(environment, { jitless: true });
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path: [name = ""], message }) => {
      return `${String(name)} is ${JSON.stringify(environment[String(name)])}; it may be ${message}`;
    });
    throw new InputError(problems.join("; "));
  }
  const read = parsed.data;
  return {
    port: read.PORT,
    snapshot: read.SNAPSHOT,
    kubeconfig: read.KUBECONFIG,
    dryRun: read.DRY_RUN === "true",
    collectGrace: read.COLLECT_GRACE,
    renewAfter: read.RENEW_AFTER,
    rewriteRules: read.REWRITE_RULES,
    maxEventBytes: read.MAX_EVENT_BYTES,
    ownNamespace: read.POD_NAMESPACE,
    namespaces: read.NAMESPACES,
    retireOrphans: read.RETIRE_ORPHANS,
    callers:
      read.OIDC_AUDIENCE === undefined ? undefined : { audience: read.OIDC_AUDIENCE, subjects: read.OIDC_SUBJECTS },
    logLevel: read.LOG_LEVEL,
  };
}
