import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binary } from "./paths.ts";
import { freePorts } from "./ports.ts";
import { answersOk, type Child, startProcess, untilReady } from "./process.ts";
import { onTeardown } from "./teardown.ts";

/** Where in a control plane's folder etcd has its data. */
export function etcdData(folder: string): string {
  return join(folder, "etcd");
}

/** Starts an etcd of one member in the folder, with a copy of the data of a stopped one if given; they go at teardown. */
export async function startEtcd(name: string, folder: string, seed?: string): Promise<{ etcd: Child; url: string }> {
  const [client, peer] = await freePorts(2);
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const data = etcdData(folder);
  // Even of a failed test only the logs are worth keeping.
  onTeardown(`${name} data`, () => rmSync(data, { recursive: true, force: true }));
  if (seed !== undefined) cpSync(seed, data, { recursive: true });
  const etcd = await startProcess({
    name: `${name}-etcd`,
    command: binary("etcd"),
    args: [
      "--name=e2e",
      `--data-dir=${data}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=e2e=${peerUrl}`,
      "--log-level=warn",
      // The data die with the test, so waiting for the disk buys nothing.
      "--unsafe-no-fsync",
    ],
  });
  await untilReady(etcd, () => answersOk(`${url}/health`));
  return { etcd, url };
}
