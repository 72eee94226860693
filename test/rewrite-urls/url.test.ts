import { describe, expect, test } from "vitest";
import { isWholeUrl, readPrefix, redact, replacePrefix } from "../../functions/rewrite-urls/url.ts";

const OLD = "http://10.10.10.17/";
const NEW = "https://172.20.0.10/images/";

// situation, value, outcome (undefined: left alone), from, to
const rows: readonly (readonly [string, string, string | undefined, from?: string, to?: string])[] = [
  ["a file below the prefix", "http://10.10.10.17/os.qcow2", "https://172.20.0.10/images/os.qcow2"],
  ["a file in a folder below it", "http://10.10.10.17/a/b/os.raw", "https://172.20.0.10/images/a/b/os.raw"],
  ["the prefix alone", "http://10.10.10.17/", "https://172.20.0.10/images/"],
  ["the host without a slash", "http://10.10.10.17", "https://172.20.0.10/images/"],
  ["a longer address", "http://10.10.10.170/os.qcow2", undefined],
  ["a host that begins with the address", "http://10.10.10.17.example.org/os.qcow2", undefined],
  ["the address as user name", "http://10.10.10.17@evil.example/os.qcow2", undefined],
  ["another port", "http://10.10.10.17:8080/os.qcow2", undefined],
  ["the scheme's own port, written out", "http://10.10.10.17:80/os.qcow2", "https://172.20.0.10/images/os.qcow2"],
  ["the other scheme's port", "http://10.10.10.17:443/os.qcow2", undefined],
  ["another scheme", "https://10.10.10.17/os.qcow2", undefined],
  ["ftp", "ftp://10.10.10.17/os.qcow2", undefined],
  ["an OCI image", "oci://10.10.10.17/os:v1", undefined],
  ["a file", "file:///10.10.10.17/os.qcow2", undefined],
  ["a plain checksum", "d41d8cd98f00b204e9800998ecf8427e", undefined],
  ["a checksum that is a URL", "http://10.10.10.17/os.sha256", "https://172.20.0.10/images/os.sha256"],
  ["a path", "/os.qcow2", undefined],
  ["a URL without a scheme", "//10.10.10.17/os.qcow2", undefined],
  ["a host and a path", "10.10.10.17/os.qcow2", undefined],
  ["nothing", "", undefined],
  ["words around the URL", "get http://10.10.10.17/os.qcow2", undefined],
  ["a space at the end", "http://10.10.10.17/os.qcow2 ", undefined],
  ["a new line at the end", "http://10.10.10.17/os.qcow2\n", undefined],
  ["backslashes for slashes", "http:\\\\10.10.10.17\\os.qcow2", undefined],
  ["a backslash in the path", "http://10.10.10.17/..\\os.qcow2", undefined],
  ["a port that is none", "http://10.10.10.17:99999/os.qcow2", undefined],
  ["scheme in upper case", "HTTP://10.10.10.17/OS.qcow2", "https://172.20.0.10/images/OS.qcow2"],
  ["a query", "http://10.10.10.17/os?v=1&w=%20/", "https://172.20.0.10/images/os?v=1&w=%20/"],
  ["a query that holds the old URL", "http://b/x?u=http://10.10.10.17/", undefined],
  ["a query right after the host", "http://10.10.10.17?v=1", "https://172.20.0.10/images/?v=1"],
  ["a fragment", "http://10.10.10.17/os#http://x", "https://172.20.0.10/images/os#http://x"],
  ["dots in the query", "http://10.10.10.17/os?../..", "https://172.20.0.10/images/os?../.."],
  ["escapes kept as written", "http://10.10.10.17/%7Ea%2fb/%e4", "https://172.20.0.10/images/%7Ea%2fb/%e4"],
  ["two slashes", "http://10.10.10.17//os.qcow2", "https://172.20.0.10/images//os.qcow2"],
  ["dot segments", "http://10.10.10.17/a/./b/../os.qcow2", "https://172.20.0.10/images/a/os.qcow2"],
  ["dots that would climb out", "http://10.10.10.17/../../etc/os", "https://172.20.0.10/images/etc/os"],
  ["escaped dots", "http://10.10.10.17/a/%2E%2e/os", "https://172.20.0.10/images/os"],
  ["dots at the end", "http://10.10.10.17/a/b/..", "https://172.20.0.10/images/a/"],
  ["dots into the folder", "http://h/x/../old/os", "http://n/os", "http://h/old/", "http://n/"],
  ["dots out of the folder", "http://h/old/../x/os", undefined, "http://h/old/", "http://n/"],
  ["a host name in upper case", "http://Images.Example/os", "http://n/os", "http://images.example/", "http://n/"],
  ["a host name with another ending", "http://images.example.org/os", undefined, "http://images.example/", "http://n/"],
  ["another host before it", "http://my.images.example/os", undefined, "http://images.example/", "http://n/"],
  ["a dot after the host name", "http://images.example./os", undefined, "http://images.example/", "http://n/"],
  ["IPv6", "http://[fd00::17]/os", "http://[fd00::18]/os", "http://[fd00::17]/", "http://[fd00::18]/"],
  ["IPv6, longer and in upper case", "http://[FD00:0:0:0::17]/os", "http://n/os", "http://[fd00::17]/", "http://n/"],
  ["another IPv6 address", "http://[fd00::170]/os", undefined, "http://[fd00::17]/", "http://n/"],
  ["IPv6 with a port", "http://[fd00::17]:81/os", "http://n/os", "http://[fd00::17]:81/", "http://n/"],
  ["a folder", "http://h/old/os", "http://n/new/os", "http://h/old/", "http://n/new/"],
  ["the folder without its slash", "http://h/old", undefined, "http://h/old/", "http://n/new/"],
  ["a name that begins with the folder's", "http://h/older/os", undefined, "http://h/old/", "http://n/new/"],
  ["a folder in another case", "http://h/OLD/os", undefined, "http://h/old/", "http://n/new/"],
  ["a folder, escaped", "http://h/%6Fld/os", "http://n/new/os", "http://h/old/", "http://n/new/"],
  ["a rule without last slashes", "http://h/old/os", "http://n/new/os", "http://h/old", "http://n/new"],
  ["…and a name that begins with it", "http://h/older", undefined, "http://h/old", "http://n/new"],
  ["…and the very same", "http://h/old?x", "http://n/new?x", "http://h/old", "http://n/new"],
  ["…and with a slash", "http://h/old/", "http://n/new/", "http://h/old", "http://n/new"],
  ["a rule with a slash on one side", "http://h/old/os", "http://n/new/os", "http://h/old/", "http://n/new"],
  ["a rule with a slash on the other", "http://h/old/os", "http://n/new/os", "http://h/old", "http://n/new/"],
  ["a rule for one file", "http://h/a.img", "http://n/b.img", "http://h/a.img", "http://n/b.img"],
  ["user info, to another host", "http://u:p@10.10.10.17/os", "https://172.20.0.10/images/os"],
  [
    "user info, to the same host",
    "http://u:p%40@h/old/os",
    "https://u:p%40@h/new/os",
    "http://h/old/",
    "https://h/new/",
  ],
  ["an @ in the password", "http://u:p@x@h/os", "https://u:p@x@h/os", "http://h/", "https://h/"],
];

describe("a URL against a rule", () => {
  const cases = rows.map(([situation, value, outcome, from = OLD, to = NEW]) => ({
    situation,
    value,
    outcome,
    from,
    to,
  }));
  test.each(cases)("$situation: $value -> $outcome", ({ value, outcome, from, to }) => {
    expect(replacePrefix(value, readPrefix(from), readPrefix(to))).toBe(outcome);
  });
});

describe("a rule's prefix", () => {
  test.each([
    ["another scheme", "oci://h/x/", /http or https/],
    ["no URL", "10.10.10.17", /http or https/],
    ["a password", "http://u:p@h/", /user or password/],
    ["a query", "http://h/?x", /query/],
    ["a fragment", "http://h/#x", /query or fragment/],
    ["dot segments", "http://h/a/../b/", /\.\./],
  ])("%s -> refused", (_situation, text, message) => {
    expect(() => readPrefix(text)).toThrow(message);
  });
});

describe("what is one whole URL", () => {
  test.each([
    ["http://h", true],
    ["HTTPS://h/x?y#z", true],
    ["http://", false],
    ["http://h/ x", false],
    ["mailto:x@h", false],
  ])("%s -> %s", (text, outcome) => {
    expect(isWholeUrl(text)).toBe(outcome);
  });
});

describe("text for people", () => {
  test.each([
    ["http://u:p@h/x", "http://***@h/x"],
    ["not http://u:p@x@h/x but https://t@i/", "not http://***@h/x but https://***@i/"],
    ["http://h/x@y", "http://h/x@y"],
    ["mail me@h", "mail me@h"],
  ])("%s -> %s", (text, outcome) => {
    expect(redact(text)).toBe(outcome);
  });
});
