import { spawn } from "node:child_process";
import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { blobPath, LAYER, type Layer } from "./oci.ts";

/** Everything in the archive that could tell one build from another is fixed: order, times, owners and modes. */
const SAME_EACH_TIME = [
  "--format=gnu",
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--mode=u=rwX,go=rX",
];

/**
 * Packs a folder into a layer among the blobs of a layout. `createdBy` is what the image's history says of it.
 * Throws where GNU tar fails.
 */
export async function packLayer(root: string, layout: string, createdBy: string): Promise<Layer> {
  const blobs = join(layout, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const unnamed = join(blobs, `${createHash("sha256").update(root).digest("hex")}.part`);
  const args = [...SAME_EACH_TIME, "-C", root, "-cf", "-", "--", ...readdirSync(root).toSorted()];
  const tar = spawn("tar", args, { env: { ...process.env, LC_ALL: "C" }, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(tar, "exit");
  const [plain, packed] = [createHash("sha256"), createHash("sha256")];
  await pipeline(tar.stdout, through(plain), createGzip(), through(packed), createWriteStream(unnamed));
  const [code] = await ended;
  if (code !== 0) throw new Error(`tar ended with ${code} on ${root}`);
  const digest = digestOf(packed);
  const { size } = statSync(unnamed);
  renameSync(unnamed, blobPath(layout, digest));
  return { descriptor: { mediaType: LAYER, digest, size }, diffId: digestOf(plain), createdBy };
}

function through(hash: Hash) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
}

function digestOf(hash: Hash): string {
  return `sha256:${hash.digest("hex")}`;
}
