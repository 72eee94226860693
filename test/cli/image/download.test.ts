import { describe, expect, it } from "vitest";
import { debianHash, debianPath, mirrorFrom } from "../../../cli/image/download.ts";
import { ARCHITECTURES, DEBIAN, type DebianPin, NODE } from "../../../cli/image/pins.ts";

const pin: DebianPin = {
  name: "libx1",
  version: "1.2-3+deb13u1",
  pool: "main/x/x",
  sha256: { amd64: "a", arm64: "b" },
};

describe("where a mirror keeps a package", () => {
  it.each<[string, DebianPin, string]>([
    ["one of an architecture", pin, "pool/main/x/x/libx1_1.2-3+deb13u1_arm64.deb"],
    ["one for all -> its one file", { ...pin, sha256: { all: "c" } }, "pool/main/x/x/libx1_1.2-3+deb13u1_all.deb"],
    ["an epoch -> is not in the file's name", { ...pin, version: "2:1.2-3" }, "pool/main/x/x/libx1_1.2-3_arm64.deb"],
  ])("%s", (_, one, path) => {
    expect(debianPath(one, "arm64")).toBe(path);
  });
});

describe("the mirror", () => {
  const sites = ["http://one.example/debian-security", "http://one.example/debian/", ""];

  it.each<[string, string | undefined, readonly string[], string]>([
    ["nothing asked for -> the machine's own", undefined, sites, "http://one.example/debian"],
    ["empty, as an unset variable of a workflow is -> the machine's own", "", sites, "http://one.example/debian"],
    ["one asked for -> that", "https://two.example/archive/2026/", sites, "https://two.example/archive/2026"],
  ])("%s", (_, asked, known, mirror) => {
    expect(mirrorFrom(asked, known)).toBe(mirror);
  });

  it("none asked for and a machine without -> what to do", () => {
    expect(() => mirrorFrom(undefined, ["http://one.example/ubuntu"])).toThrow("set DEBIAN_MIRROR");
  });
});

describe("the pins", () => {
  it("an architecture without a hash -> stops", () => {
    const { amd64: _, ...sha256 } = pin.sha256;
    expect(() => debianHash({ ...pin, sha256 }, "amd64")).toThrow("no sha256 of libx1 for amd64");
  });

  it.each(ARCHITECTURES)("%s: every hash is one", (architecture) => {
    for (const one of DEBIAN)
      expect([one.name, debianHash(one, architecture)]).toEqual([one.name, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(NODE[architecture].integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  });
});
