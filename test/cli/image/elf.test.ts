import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { linkedBy } from "../../../cli/image/elf.ts";
import { checkLinkage } from "../../../cli/image/linkage.ts";
import type { Architecture } from "../../../cli/image/pins.ts";
import { folderOf } from "../../build/folder.ts";

/** A shared library without code: a header, one segment that is loaded, and the names that it needs. */
function library(machine: number, needed: readonly string[], interpreter?: string): Buffer {
  const [names, offset] = [`\0${needed.join("\0")}\0`, 64 + 3 * 56];
  const dynamic = Buffer.alloc((needed.length + 2) * 16);
  needed.forEach((_, index) => {
    dynamic.writeBigInt64LE(1n, index * 16);
    dynamic.writeBigUInt64LE(
      BigInt(1 + needed.slice(0, index).join("\0").length + (index > 0 ? 1 : 0)),
      index * 16 + 8,
    );
  });
  dynamic.writeBigInt64LE(5n, needed.length * 16);
  // The address at which the file is loaded differs from its place in it.
  dynamic.writeBigUInt64LE(BigInt(0x1000 + offset + dynamic.length), needed.length * 16 + 8);
  const path = Buffer.from(`${interpreter ?? ""}\0`);
  const size = offset + dynamic.length + names.length + path.length;
  const head = Buffer.alloc(offset);
  head.write("\x7fELF\x02\x01", "latin1");
  head.writeUInt16LE(machine, 18);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(3, 56);
  const segments = [
    [1, 0, 0x1000, size],
    [2, offset, 0x1000 + offset, dynamic.length],
    [interpreter === undefined ? 0 : 3, size - path.length, 0, path.length],
  ] as const;
  segments.forEach(([type, at, address, length], index) => {
    const start = 64 + index * 56;
    head.writeUInt32LE(type, start);
    head.writeBigUInt64LE(BigInt(at), start + 8);
    head.writeBigUInt64LE(BigInt(address), start + 16);
    head.writeBigUInt64LE(BigInt(length), start + 32);
  });
  return Buffer.concat([head, dynamic, Buffer.from(names), path]);
}

describe("what a file is linked with", () => {
  it.each<[string, Buffer, ReturnType<typeof linkedBy>]>([
    [
      "a library for amd64",
      library(62, ["libc.so.6", "libm.so.6"]),
      { architecture: "amd64", interpreter: undefined, libraries: ["libc.so.6", "libm.so.6"] },
    ],
    [
      "an executable for arm64 -> its dynamic linker too",
      library(183, ["libc.so.6"], "/lib/ld-linux-aarch64.so.1"),
      { architecture: "arm64", interpreter: "/lib/ld-linux-aarch64.so.1", libraries: ["libc.so.6"] },
    ],
    ["one for another machine", library(8, []), { architecture: undefined, interpreter: undefined, libraries: [] }],
  ])("%s", (_, file, linked) => {
    expect(linkedBy(file)).toEqual(linked);
  });

  it("a script -> no such file", () => {
    expect(() => linkedBy(Buffer.from("#!/bin/sh\n"))).toThrow("not a 64-bit");
  });

  it.runIf(process.platform === "linux")("the Node that runs this -> the C library among others", () => {
    expect(linkedBy(readFileSync(process.execPath)).libraries).toContain("libc.so.6");
  });
});

describe("an executable among its libraries", () => {
  const NODE = library(62, ["libc.so.6"], "/lib64/ld.so.2");
  const LIBC = library(62, ["ld.so.2"]);
  const LD = library(62, []);

  async function check(
    node: Buffer,
    libraries: Readonly<Record<string, Buffer>>,
    architecture: Architecture = "amd64",
  ) {
    const files = Object.entries(libraries).map(([name, content]) => [`system/usr/lib/x/${name}`, content]);
    const folder = await folderOf({ node, ...Object.fromEntries(files) });
    const system = join(folder, "system");
    mkdirSync(join(system, "usr/lib64"), { recursive: true });
    symlinkSync("usr/lib64", join(system, "lib64"));
    symlinkSync("../lib/x/ld.so.2", join(system, "usr/lib64/ld.so.2"));
    return () => checkLinkage(join(folder, "node"), system, architecture);
  }

  it("that are all there -> nothing to complain of", async () => {
    expect(await check(NODE, { "libc.so.6": LIBC, "ld.so.2": LD })).not.toThrow();
  });

  it.each<[string, Readonly<Record<string, Buffer>>, Architecture, string]>([
    ["one is missing", { "ld.so.2": LD }, "amd64", "node for amd64 needs libc.so.6: add its package"],
    [
      "a library's own is missing",
      { "libc.so.6": library(62, ["libx.so"]), "ld.so.2": LD },
      "amd64",
      "libc.so.6 for amd64 needs libx.so",
    ],
    ["no dynamic linker", { "libc.so.6": LD }, "amd64", "needs /lib64/ld.so.2"],
    ["for another architecture", { "libc.so.6": LIBC, "ld.so.2": LD }, "arm64", "node for arm64 is made for amd64"],
    [
      "a library of another",
      { "libc.so.6": library(183, []), "ld.so.2": LD },
      "amd64",
      "libc.so.6 for amd64 is made for arm64",
    ],
  ])("%s -> says which", async (_, libraries, architecture, problem) => {
    expect(await check(NODE, libraries, architecture)).toThrow(problem);
  });
});
