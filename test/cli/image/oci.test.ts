import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blobPath, configOf, LAYER, type Layer, type Start, writeLayout } from "../../../cli/image/oci.ts";
import { folderOf } from "../../build/folder.ts";

const layer: Layer = {
  descriptor: { mediaType: LAYER, digest: `sha256:${"1".repeat(64)}`, size: 7 },
  diffId: `sha256:${"2".repeat(64)}`,
  createdBy: "a test",
};
const start: Start = {
  user: "65532:65532",
  env: ["NODE_ENV=production"],
  entrypoint: ["node", "/app/caretaker.mjs"],
  port: 8080,
  labels: { "org.opencontainers.image.title": "t" },
};
const read = (layout: string, path: string) => JSON.parse(readFileSync(join(layout, path), "utf8"));

describe("a layout", () => {
  it("of two architectures -> one image, an index over both", async () => {
    const layout = await folderOf({});
    const { digest } = writeLayout(
      layout,
      new Map([
        ["amd64", [layer]],
        ["arm64", [layer]],
      ] as const),
      start,
      "1.0.0",
    );
    const blob = (name: string) => JSON.parse(readFileSync(blobPath(layout, name), "utf8"));

    expect(read(layout, "oci-layout")).toEqual({ imageLayoutVersion: "1.0.0" });
    expect(read(layout, "index.json").manifests).toMatchObject([
      { digest, annotations: { "org.opencontainers.image.ref.name": "1.0.0" } },
    ]);
    const { manifests } = blob(digest);
    expect(manifests.map(({ platform }: { platform: unknown }) => platform)).toEqual([
      { architecture: "amd64", os: "linux" },
      { architecture: "arm64", os: "linux", variant: "v8" },
    ]);
    expect(blob(manifests[0].digest).layers).toEqual([layer.descriptor]);
  });

  it("written twice -> the same digest", async () => {
    const written = async () => writeLayout(await folderOf({}), new Map([["amd64", [layer]]] as const), start, "1");
    expect(await written()).toEqual(await written());
  });
});

it("a config says how the image is started, and names its layers before they were compressed", () => {
  expect(configOf("amd64", [layer], start)).toMatchObject({
    architecture: "amd64",
    config: { User: "65532:65532", Entrypoint: ["node", "/app/caretaker.mjs"], ExposedPorts: { "8080/tcp": {} } },
    rootfs: { diff_ids: [layer.diffId] },
  });
});
