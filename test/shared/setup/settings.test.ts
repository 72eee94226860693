import { describe, expect, it } from "vitest";
import { InputError } from "../../../shared/setup/input-error.ts";
import { readSettings, type Settings } from "../../../shared/setup/settings.ts";

const milliseconds = (duration: Temporal.Duration) => duration.total("milliseconds");

it("nothing set -> the defaults", () => {
  const { collectGrace, renewAfter, ...rest } = readSettings({});
  expect(rest).toMatchObject({
    port: 8080,
    snapshot: undefined,
    kubeconfig: undefined,
    dryRun: false,
    maxEventBytes: 4 * 1024 * 1024,
    ownNamespace: "capi-caretaker",
    namespaces: [],
    retireOrphans: [],
    callers: undefined,
    logLevel: "info",
  });
  expect([milliseconds(collectGrace), milliseconds(renewAfter)]).toEqual([600_000, 120_000]);
});

it("variables that are not ours do not matter", () => {
  expect(readSettings({ PATH: "/bin", K_SERVICE: "fn", port: "x" }).port).toBe(8080);
});

it.each<[Record<string, string>, Partial<Settings>]>([
  [{ PORT: "0" }, { port: 0 }],
  [{ PORT: "65535" }, { port: 65535 }],
  [{ SNAPSHOT: "./dump" }, { snapshot: "./dump" }],
  [{ KUBECONFIG: "/etc/kubeconfig" }, { kubeconfig: "/etc/kubeconfig" }],
  [{ DRY_RUN: "true" }, { dryRun: true }],
  [{ DRY_RUN: "false" }, { dryRun: false }],
  [{ MAX_EVENT_BYTES: "1024" }, { maxEventBytes: 1024 }],
  [{ MAX_EVENT_BYTES: "67108864" }, { maxEventBytes: 67108864 }],
  [{ POD_NAMESPACE: "a" }, { ownNamespace: "a" }],
  [{ POD_NAMESPACE: "a".repeat(63) }, { ownNamespace: "a".repeat(63) }],
  [{ LOG_LEVEL: "silent" }, { logLevel: "silent" }],
  [{ NAMESPACES: "team-a" }, { namespaces: ["team-a"] }],
  [{ NAMESPACES: "team-a, team-b" }, { namespaces: ["team-a", "team-b"] }],
  [{ NAMESPACES: "" }, { namespaces: [] }],
  [{ RETIRE_ORPHANS: "" }, { retireOrphans: [] }],
  [{ RETIRE_ORPHANS: "helm" }, { retireOrphans: ["helm"] }],
  [{ RETIRE_ORPHANS: "helm,flux,argocd" }, { retireOrphans: ["helm", "flux", "argocd"] }],
  [{ OIDC_AUDIENCE: "a", OIDC_SUBJECTS: "x,y" }, { callers: { audience: "a", subjects: ["x", "y"] } }],
])("%j -> %j", (environment, expected) => {
  expect(readSettings(environment)).toMatchObject(expected);
});

describe.each(["COLLECT_GRACE", "RENEW_AFTER"] as const)("%s", (name) => {
  it.each([
    ["PT10M", 600_000],
    ["PT0S", 0],
    ["P0D", 0],
    ["PT1.5S", 1500],
    ["P1D", 86_400_000],
    ["P1DT1H", 90_000_000],
    ["PT90M", 5_400_000],
  ])("%s -> %i ms", (text, expected) => {
    const { collectGrace, renewAfter } = readSettings({ [name]: text });
    expect(milliseconds(name === "COLLECT_GRACE" ? collectGrace : renewAfter)).toBe(expected);
  });

  it.each(["", "10", "10m", "PT", "P", "-PT1M", "P1M", "P1Y", "P1W", "PT1H30", "an hour", "PT9007199254740991S"])(
    "%j -> refused",
    (text) => {
      expect(refusal({ [name]: text })).toBe(
        `${name} is ${JSON.stringify(text)}; it may be an ISO 8601 duration of days or less, such as PT10M, not negative and within a year`,
      );
    },
  );
});

function refusal(environment: Record<string, string>): string {
  try {
    readSettings(environment);
    return "taken";
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return (error as InputError).message;
  }
}

describe("a bad value -> which variable, what it holds and what it may hold", () => {
  const port = "a whole number from 0 to 65535";
  const bytes = "a whole number from 1024 to 67108864";
  it.each([
    ["PORT", "http", port],
    ["PORT", "-1", port],
    ["PORT", "65536", port],
    ["PORT", "80.5", port],
    ["PORT", "Infinity", port],
    ["PORT", "", port],
    ["PORT", " ", port],
    ["MAX_EVENT_BYTES", "4MB", bytes],
    ["MAX_EVENT_BYTES", "1023", bytes],
    ["MAX_EVENT_BYTES", "67108865", bytes],
    ["MAX_EVENT_BYTES", "", bytes],
    ["DRY_RUN", "yes", '"true" or "false"'],
    ["DRY_RUN", "TRUE", '"true" or "false"'],
    ["DRY_RUN", "", '"true" or "false"'],
    ["POD_NAMESPACE", "", "a namespace name"],
    ["POD_NAMESPACE", "Upper", "a namespace name"],
    ["POD_NAMESPACE", "-a", "a namespace name"],
    ["POD_NAMESPACE", "a".repeat(64), "a namespace name"],
    ["NAMESPACES", "Upper", "namespace names with commas between them"],
    ["NAMESPACES", "a,,b", "namespace names with commas between them"],
    ["RETIRE_ORPHANS", "all", "some of helm, flux, argocd, with commas between them"],
    ["RETIRE_ORPHANS", "helm,", "some of helm, flux, argocd, with commas between them"],
    ["OIDC_SUBJECTS", "x", "set only together with OIDC_AUDIENCE"],
    ["OIDC_AUDIENCE", "x", "set only together with OIDC_SUBJECTS, which names whose tokens are taken"],
    ["LOG_LEVEL", "verbose", "one of trace, debug, info, warn, error, fatal, silent"],
    ["LOG_LEVEL", "", "one of trace, debug, info, warn, error, fatal, silent"],
  ])("%s=%j", (name, value, allowed) => {
    expect(refusal({ [name]: value })).toBe(`${name} is ${JSON.stringify(value)}; it may be ${allowed}`);
  });

  it.each(["SNAPSHOT", "KUBECONFIG"])("%s, empty: what it may hold is said in words", (name) => {
    expect(refusal({ [name]: "" })).toMatch(new RegExp(`^${name} is ""; it may be (a|the) `));
  });

  it("several bad ones are all named", () => {
    const message = refusal({ PORT: "x", DRY_RUN: "y", LOG_LEVEL: "z" });
    for (const name of ["PORT", "DRY_RUN", "LOG_LEVEL"]) expect(message).toContain(`${name} is `);
    expect(message).not.toContain("\n");
  });
});
