/** Builds the real parts of the end-to-end suite into test/e2e/.build; skips what its module files say is built already. */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fetchImageParts } from "../../cli/image/build.ts";
import { binary, buildFolder, builtCrdsFolder, e2eFolder } from "./harness/paths.ts";
import { type Part, parts } from "./parts.ts";

const neededGo: readonly [number, number] = [1, 26];
const buildFlags: readonly string[] = ["-trimpath", "-buildvcs=false"];
const environment: NodeJS.ProcessEnv = { ...process.env, CGO_ENABLED: "0", GOWORK: "off" };

/** Says what `go version` answers; throws with what to do when Go is missing or older than 1.26. */
function goVersion(): string {
  let said: string;
  try {
    said = execFileSync("go", ["env", "GOVERSION"], { encoding: "utf8", cwd: e2eFolder }).trim();
  } catch {
    throw new Error(
      `Go ${neededGo.join(".")} or newer is needed to build the real parts; there is no usable \`go\` in PATH`,
    );
  }
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(said) ?? [];
  const isNewEnough = Number(major) > neededGo[0] || (Number(major) === neededGo[0] && Number(minor) >= neededGo[1]);
  if (!isNewEnough)
    throw new Error(`Go ${neededGo.join(".")} or newer is needed to build the real parts, this is ${said}`);
  return said;
}

function moduleFolder(part: Part): string {
  return join(e2eFolder, "parts", part.name);
}

function stampOf(part: Part, version: string): string {
  const hash = createHash("sha256").update(
    JSON.stringify([part.binaries, part.ldflags, part.crds, buildFlags, version]),
  );
  for (const file of readdirSync(moduleFolder(part)).toSorted()) {
    hash.update(file).update(readFileSync(join(moduleFolder(part), file)));
  }
  return hash.digest("hex");
}

function isBuilt(part: Part, stampFile: string, stamp: string): boolean {
  if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== stamp) return false;
  return Object.keys(part.binaries).every((name) => existsSync(binary(name)));
}

async function goBuild(part: Part, name: string, goPackage: string): Promise<void> {
  // Another run may be executing the present file, and a running executable cannot be written to.
  const fresh = `${binary(name)}.${process.pid}`;
  const ldflags = ["-s -w", part.ldflags ?? ""].join(" ").trim();
  const child = spawn("go", ["build", ...buildFlags, "-ldflags", ldflags, "-o", fresh, goPackage], {
    cwd: moduleFolder(part),
    env: environment,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("exit", resolve));
  if (code !== 0) throw new Error(`go build ${goPackage} in test/e2e/parts/${part.name} ended with ${code}`);
  renameSync(fresh, binary(name));
}

function copyCrds(part: Part): void {
  if (part.crds === undefined) return;
  const target = join(builtCrdsFolder, part.name);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const source = execFileSync("go", ["list", "-m", "-f", "{{.Dir}}", part.crds.module], {
    cwd: moduleFolder(part),
    env: environment,
    encoding: "utf8",
  }).trim();
  for (const folder of part.crds.folders) {
    for (const file of readdirSync(join(source, folder)).filter((name) => name.endsWith(".yaml"))) {
      cpSync(join(source, folder, file), join(target, file));
      // Files of the module cache are read-only, and so would be their copies.
      chmodSync(join(target, file), 0o644);
    }
  }
}

async function buildPart(part: Part, version: string): Promise<void> {
  const stampFile = join(buildFolder, "stamps", part.name);
  const stamp = stampOf(part, version);
  if (isBuilt(part, stampFile, stamp)) return;
  const started = Date.now();
  const seconds = (): number => Math.round((Date.now() - started) / 1000);
  let current = "";
  const say = (text: string): void => console.log(`${part.name}: ${text}`);
  say(`building (a first build takes about ${part.coldSeconds} s on 2 cores)`);
  const progress = setInterval(() => say(`still building ${current}, ${seconds()} s`), 20_000);
  try {
    for (const [name, goPackage] of Object.entries(part.binaries)) {
      current = name;
      await goBuild(part, name, goPackage);
    }
    copyCrds(part);
  } finally {
    clearInterval(progress);
  }
  writeFileSync(stampFile, stamp);
  say(`built in ${seconds()} s`);
}

/** Builds whatever part is not up to date, one at a time, and fetches what the image is made of. Throws an error fit to be shown when one cannot be built. */
export async function build(): Promise<void> {
  const version = goVersion();
  mkdirSync(join(buildFolder, "bin"), { recursive: true });
  mkdirSync(join(buildFolder, "stamps"), { recursive: true });
  for (const part of parts) await buildPart(part, version);
  try {
    // The tests that build the image have no way out of their own network.
    fetchImageParts();
  } catch (error) {
    // They will fail with the same words, and no other test needs to.
    console.warn(`The image cannot be built: ${error instanceof Error ? error.message : error}`);
  }
}

if (import.meta.main) {
  try {
    await build();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
