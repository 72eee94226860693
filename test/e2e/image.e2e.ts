import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { resourceEvent } from "../build/events.ts";
import { metal3MachineTemplate } from "../build/objects.ts";
import { run } from "./harness/command.ts";
import { containerCommand } from "./harness/container.ts";
import { architecturesIn, digestIn, npmRunImage, type UnpackedImage, unpackImage } from "./harness/image.ts";
import { binary } from "./harness/paths.ts";
import { freePort } from "./harness/ports.ts";
import { answersOk, startProcess, untilReady } from "./harness/process.ts";
import { runFolder } from "./harness/run-folder.ts";
import { onTeardown } from "./harness/teardown.ts";

const template = metal3MachineTemplate("t");
/** Hundreds of megabytes, which nobody wants among the logs of a run that failed. */
const images = runFolder("images");
let built = "";
let pulled = "";
let reference = "";
let pushed: string[] = [];
let image: UnpackedImage;

async function crane(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(binary("crane"), args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout.trim();
}

/** Runs something in the image to its end, in place of a function. */
async function inImage(script: string): Promise<string> {
  const probe = { ...image, start: { ...image.start, Entrypoint: ["node"] } };
  const [program = "", ...args] = containerCommand(probe, { data: join(images, "data"), args: ["-p", script] });
  const { stdout, stderr } = await run(program, args);
  return stdout.trim() || stderr;
}

beforeAll(async () => {
  onTeardown("the images' folder", () => rmSync(images, { recursive: true, force: true }));
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const registry = await startProcess({
    name: "registry",
    command: binary("crane"),
    args: ["registry", "serve", "--address", address],
  });
  await untilReady(registry, () => answersOk(`http://${address}/v2/`));
  built = join(images, "built");
  pulled = join(images, "pulled");
  reference = `${address}/capi-caretaker:test`;
  pushed = await npmRunImage("--out", built, "--push", reference);
  await crane("pull", "--format", "oci", reference, pulled);
  image = unpackImage(pulled, "amd64", join(images, "root"));
  mkdirSync(join(images, "data"), { recursive: true });
  writeFileSync(join(join(images, "data"), "t.json"), JSON.stringify(template));
}, 600_000);

test("built once more -> the same digest", { timeout: 600_000 }, async () => {
  const again = join(images, "again");
  const [said = ""] = await npmRunImage("--out", again);
  expect(digestIn(again)).toBe(digestIn(built));
  expect(said).toBe(`${again}: ${digestIn(built)}`);
});

test("pushed and pulled -> every byte is what was built, for both architectures", async () => {
  expect(pushed.at(-1)).toBe(`${reference.replace(/:test$/, "")}@${digestIn(built)}`);
  expect(await crane("digest", reference)).toBe(digestIn(built));
  expect(digestIn(pulled)).toBe(digestIn(built));
  expect(architecturesIn(pulled)).toEqual(["amd64", "arm64"]);
  for (const platform of ["linux/amd64", "linux/arm64"]) {
    await crane("validate", "--remote", reference, "--platform", platform);
  }
});

test("what the image runs as -> no root, a root it cannot write, no rights, no shell", async () => {
  expect(image.start.User).toMatch(/^65532:65532$/);
  expect(await inImage("[process.getuid(), process.getgid(), process.getgroups()].join()")).toBe("65532,65532,65532");
  expect(await inImage("try { fs.writeFileSync('/app/x', '') } catch (error) { error.code }")).toBe("EROFS");
  expect(await inImage("/CapEff:\\s*(\\w+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]")).toMatch(/^0+$/);
  const programs = "fs.globSync(['/bin/*', '/sbin/*', '/usr/bin/*', '/usr/sbin/*', '/usr/local/bin/*']).join()";
  expect(await inImage(programs)).toBe("/usr/local/bin/node");
});

test("started as its config says on a snapshot -> holds the template of an event, ends when asked to", async () => {
  const port = await freePort();
  const env = { SNAPSHOT: "/data", PORT: String(port) };
  const [command = "", ...args] = containerCommand(image, {
    data: join(images, "data"),
    env,
    args: ["retain-templates"],
  });
  const container = await startProcess({ name: "container", command, args });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(container, () => answersOk(`${url}/health/readiness`));

  const { headers, body } = resourceEvent("add", template);
  const answer = await fetch(url, { method: "POST", headers, body });

  expect([answer.status, answer.headers.get("ce-type")]).toEqual([200, "io.capi-caretaker.template.held"]);
  expect(await container.stop()).toEqual({ code: 0, signal: null });
});
