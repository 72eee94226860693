import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Architecture } from "./pins.ts";

// The documents of an OCI image, https://github.com/opencontainers/image-spec, v1.1. They are written here since the
// tools that write layouts take images from a registry or an engine; what is written is checked by pushing it.

const IMAGE = "application/vnd.oci.image";
/** Part of the digest, so it may not tell when the image was made. */
const CREATED = "1970-01-01T00:00:00Z";

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and hex. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
}

export interface Layer {
  /** Of the compressed archive, which stands among the layout's blobs. */
  readonly descriptor: Descriptor;
  /** Digest of the archive before it was compressed. */
  readonly diffId: string;
  readonly createdBy: string;
}

/** How the image is started, and what it says of itself. */
export interface Start {
  readonly user: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly port: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** What a layer's descriptor says of its kind. */
export const LAYER = `${IMAGE}.layer.v1.tar+gzip`;

/** The configuration of the image for one architecture. */
export function configOf(architecture: Architecture, layers: readonly Layer[], start: Start) {
  return {
    created: CREATED,
    architecture,
    os: "linux",
    ...(architecture === "arm64" && { variant: "v8" }),
    config: {
      User: start.user,
      ExposedPorts: { [`${start.port}/tcp`]: {} },
      Env: start.env,
      Entrypoint: start.entrypoint,
      WorkingDir: "/",
      Labels: start.labels,
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created: CREATED, created_by: createdBy })),
  };
}

/** Where a layout keeps what has this digest. */
export function blobPath(layout: string, digest: string): string {
  return join(layout, "blobs", ...digest.split(":"));
}

/**
 * Writes the documents of a layout whose layers are already among its blobs, and returns the descriptor of the index over
 * its architectures: what a registry will know the image by.
 */
export function writeLayout(
  layout: string,
  images: ReadonlyMap<Architecture, readonly Layer[]>,
  start: Start,
  name: string,
): Descriptor {
  const manifests = [...images].map(([architecture, layers]) => {
    const config = writeBlob(layout, `${IMAGE}.config.v1+json`, configOf(architecture, layers, start));
    const manifest = { config, layers: layers.map(({ descriptor }) => descriptor), annotations: start.labels };
    const variant = architecture === "arm64" ? { variant: "v8" } : {};
    return { ...writeDocument(layout, "manifest", manifest), platform: { architecture, os: "linux", ...variant } };
  });
  const index = writeDocument(layout, "index", { manifests, annotations: start.labels });
  const named = { ...index, annotations: { "org.opencontainers.image.ref.name": name } };
  writeFileSync(join(layout, "index.json"), JSON.stringify(document("index", { manifests: [named] })));
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return index;
}

function document(kind: "manifest" | "index", content: object) {
  return { schemaVersion: 2, mediaType: `${IMAGE}.${kind}.v1+json`, ...content };
}

function writeDocument(layout: string, kind: "manifest" | "index", content: object): Descriptor {
  return writeBlob(layout, `${IMAGE}.${kind}.v1+json`, document(kind, content));
}

function writeBlob(layout: string, mediaType: string, content: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify(content));
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
  writeFileSync(blobPath(layout, digest), bytes);
  return { mediaType, digest, size: bytes.length };
}
