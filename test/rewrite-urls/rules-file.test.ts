import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { matchUrl, rulesIn } from "../../functions/rewrite-urls/rules.ts";
import { parseRules, readRules } from "../../functions/rewrite-urls/rules-file.ts";
import { rulesFile } from "../../functions/rewrite-urls/rules-source.ts";
import { InputError } from "../../shared/setup/input-error.ts";
import { createLog } from "../../shared/setup/log.ts";

const GOOD = `rules:
  - from: http://10.10.10.17/
    to: https://172.20.0.10/images/
`;

// situation, text, what the message says
const bad: readonly (readonly [string, string, RegExp])[] = [
  ["nothing", "", /^rules\.yaml, line 1: the file is null; .*rules/],
  ["a list", "- from: http://a/", /^rules\.yaml, line 1: .*map with the one key rules/],
  ["another key beside rules", `${GOOD}ruless: []\n`, /^rules\.yaml, line 4: the file has "ruless"; no such key/],
  ["rules that are no list", "rules: all", /^rules\.yaml, line 1: rules is "all"; it may be a list/],
  [
    "a rule that is a text",
    "rules:\n  - http://a/",
    /line 2: rules\[0\] is "http:\/\/a\/"; it may be a map with from and to/,
  ],
  ["an unknown key", `${GOOD}    chek: none\n`, /line 4: rules\[0\] has "chek"; no such key is known/],
  ["no to", "rules:\n  - from: http://a/\n", /line 2: rules\[0\]\.to is missing; it may be an http or https URL/],
  [
    "a from of another scheme",
    "rules:\n  - to: http://b/\n    from: ftp://a/\n",
    /line 3: rules\[0\]\.from is "ftp:\/\/a\/"; it may be/,
  ],
  [
    "a from that is a number",
    "rules:\n  - to: http://b/\n    from: 17\n",
    /line 3: rules\[0\]\.from is 17; it may be an http/,
  ],
  [
    "a password in to",
    "rules:\n  - from: http://a/\n    to: http://u:secret@b/\n",
    /line 3: rules\[0\]\.to is "http:\/\/\*\*\*@b\/"; .*password/,
  ],
  [
    "an unknown check",
    `${GOOD}    check: maybe\n`,
    /line 4: rules\[0\]\.check is "maybe"; it may be one of head, warn, none/,
  ],
  ["no namespaces", `${GOOD}    namespaces: []\n`, /line 4: rules\[0\]\.namespaces is \[\]; name one or leave it out/],
  [
    "a namespace that is none",
    `${GOOD}    namespaces: [a, B]\n`,
    /line 4: rules\[0\]\.namespaces\[1\] is "B"; it may be a namespace/,
  ],
  ["a key twice", `${GOOD}    to: http://c/\n`, /line 4: .*unique/],
  ["broken YAML", "rules: [\n", /^rules\.yaml, line \d: /],
  ["two documents", `${GOOD}---\n${GOOD}`, /^rules\.yaml, line 4: /],
  [
    "its own loop",
    "rules:\n  - from: http://a/\n    to: http://a/images/\n",
    /line 2: rules\[0\]: to is "http:\/\/a\/images\/", which its own from matches again, a loop/,
  ],
  ["its own loop, other spelling", "rules:\n  - from: http://A:80/x\n    to: http://a/x/y/\n", /a loop/],
  [
    "a loop of two",
    "rules:\n  - {from: http://a/, to: http://b/x}\n  - {from: http://b/, to: http://c/}\n",
    /line 2: rules\[0\]: .*the from of rule 2 matches again/,
  ],
  [
    "the same from twice",
    "rules:\n  - {from: http://a/, to: http://b/}\n  - {from: http://a:80/, to: http://c/}\n",
    /line 3: rules\[1\]: from is "http:\/\/a:80\/", the same as that of rule 1/,
  ],
];

describe("a rules file", () => {
  test.each(bad)("%s -> refused with line and reason", (_situation, text, message) => {
    expect(() => parseRules(text, "rules.yaml")).toThrow(message);
    expect(() => parseRules(text, "rules.yaml")).toThrow(InputError);
  });

  test("two problems -> both are named", () => {
    const text = "rules:\n  - {from: x, to: http://b/}\n  - {from: http://c/, to: y}\n";
    expect(() => parseRules(text, "f")).toThrow(/line 2: rules\[0\]\.from.*\n.*line 3: rules\[1\]\.to/);
  });

  test.each([
    ["no rules", "rules: []\n", 0],
    ["from and to", GOOD, 1],
    ["everything", `${GOOD}    namespaces: [sylva]\n    check: warn\n`, 1],
    ["https in place of http", "rules:\n  - {from: http://a/, to: https://a/}\n", 1],
    [
      "a loop between rules of different namespaces",
      "rules:\n  - {from: http://a/, to: http://b/, namespaces: [x]}\n  - {from: http://b/, to: http://a/, namespaces: [y]}\n",
      2,
    ],
  ])("%s -> taken", (_situation, text, count) => {
    expect(parseRules(text, "f").all).toHaveLength(count);
  });

  test("what is left out -> everywhere, asked with HEAD", () => {
    expect(parseRules(GOOD, "f").all[0]).toMatchObject({ namespaces: undefined, check: "head" });
  });

  test("another order of keys or a comment -> the same rules; another to -> others", () => {
    const { hash } = parseRules(GOOD, "f");
    expect(parseRules("# old\nrules: [{to: https://172.20.0.10/images/, from: http://10.10.10.17/}]", "f").hash).toBe(
      hash,
    );
    expect(parseRules(GOOD.replace("images", "other"), "f").hash).not.toBe(hash);
  });
});

describe("several rules", () => {
  const rules = parseRules(
    `rules:
  - {from: http://h/, to: http://all/}
  - {from: http://h/a/b/, to: http://ab/}
  - {from: http://h/a, to: http://a/}
  - {from: http://h/a/, to: http://a-folder/}
  - {from: http://h/sylva/, to: http://sylva/, namespaces: [sylva]}
`,
    "f",
  );
  test.each([
    ["the longest from wins", "http://h/a/b/os", "sylva", "http://ab/os"],
    ["a folder wins over a name", "http://h/a/os", "sylva", "http://a-folder/os"],
    ["the name alone", "http://h/a", "sylva", "http://a/"],
    ["none but the shortest", "http://h/x/os", "sylva", "http://all/x/os"],
    ["a rule of this namespace", "http://h/sylva/os", "sylva", "http://sylva/os"],
    ["a rule of another namespace", "http://h/sylva/os", "default", "http://all/sylva/os"],
    ["no rule", "http://i/os", "sylva", undefined],
  ])("%s: %s in %s -> %s", (_situation, value, namespace, outcome) => {
    expect(matchUrl(value, rulesIn(namespace, rules))?.to).toBe(outcome);
  });
});

describe("the file of a running function", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rules-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const log = createLog("silent", "test");

  test("no setting -> refused by name", async () => {
    await expect(rulesFile(undefined)(log)).rejects.toThrow(/REWRITE_RULES/);
  });

  test("no such file -> refused", async () => {
    await expect(readRules(join(folder, "none.yaml"))).rejects.toThrow(/none\.yaml: no rules file that can be read/);
  });

  test("a file that changes -> the new rules; one that breaks -> the last good ones", async () => {
    const file = join(folder, "rules.yaml");
    await writeFile(file, GOOD);
    const source = rulesFile(file);
    expect((await source(log)).all[0]?.to.text).toBe("https://172.20.0.10/images/");
    await writeFile(file, GOOD.replace("172.20.0.10", "172.20.0.11"));
    expect((await source(log)).all[0]?.to.text).toBe("https://172.20.0.11/images/");
    await writeFile(file, "rules: all\n");
    expect((await source(log)).all[0]?.to.text).toBe("https://172.20.0.11/images/");
  });
});
