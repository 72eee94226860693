import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isKept, USER } from "../../../cli/image/root.ts";

describe("what of a Debian package goes into the image", () => {
  it.each([
    ["usr/lib/x86_64-linux-gnu/libc.so.6", true],
    ["usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.33", true],
    ["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", true],
    ["usr/lib64/ld-linux-x86-64.so.2", true],
    ["usr/lib/ld-linux-aarch64.so.1", true],
    ["usr/share/doc/libc6/copyright", true],
    ["usr/share/doc/libstdc++6", true],
    ["usr/share/ca-certificates/mozilla/ISRG_Root_X1.crt", true],
    ["usr/lib/x86_64-linux-gnu/gconv/BIG5.so", false],
    ["usr/share/doc/libc6/changelog.Debian.gz", false],
    ["usr/share/gdb/auto-load/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.33-gdb.py", false],
    ["usr/sbin/update-ca-certificates", false],
    ["usr/bin/sh", false],
    ["etc/ld.so.conf.d/x86_64-linux-gnu.conf", false],
  ])("%s -> %s", (path, kept) => {
    expect(isKept(path)).toBe(kept);
  });
});

it("runs as the user that the Dockerfile names", () => {
  expect(readFileSync("Dockerfile", "utf8")).toContain(`USER ${USER}:${USER}\n`);
});
