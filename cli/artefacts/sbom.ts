import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { z } from "zod";
import { debianHash } from "../image/download.ts";
import { ARCHITECTURES, DEBIAN, NODE } from "../image/pins.ts";

const PROJECT = join(import.meta.dirname, "../..");
const Bom = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ "bom-ref": z.string() }) }),
  components: z.array(z.unknown()),
});

/** What npm makes of the lockfile, as CycloneDX: every package that is no development tool. */
export function npmSbom(): unknown {
  const args = ["sbom", "--offline", "--package-lock-only", "--sbom-format", "cyclonedx", "--omit", "dev"];
  return JSON.parse(execFileSync("npm", args, { cwd: PROJECT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }));
}

/**
 * npm's bill of materials with what the image holds beside it, Node and Debian's libraries, and without what differs each
 * time it is made.
 *
 * @param node Node's version
 */
export function sbomOf(npm: unknown, name: string, node: string) {
  const { metadata, components, serialNumber: _serial, ...rest } = Bom.parse(npm);
  const { timestamp: _time, component, ...about } = metadata;
  return {
    ...rest,
    metadata: { ...about, component: { ...component, type: "application", name } },
    components: [...components, ...nodeComponents(node), ...debianComponents()],
  };
}

function nodeComponents(version: string) {
  return ARCHITECTURES.map((architecture) => {
    const { name, integrity } = NODE[architecture];
    const content = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
    const purl = `pkg:npm/${name}@${version}`;
    return { "bom-ref": purl, type: "application", name, version, purl, hashes: [{ alg: "SHA-512", content }] };
  });
}

function debianComponents() {
  return DEBIAN.flatMap((pin) => {
    const architectures = pin.sha256.all === undefined ? ARCHITECTURES : (["all"] as const);
    return architectures.map((architecture) => {
      const { name, version } = pin;
      const content = architecture === "all" ? pin.sha256.all : debianHash(pin, architecture);
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-13`;
      return { "bom-ref": purl, type: "library", name, version, purl, hashes: [{ alg: "SHA-256", content }] };
    });
  });
}
