/**
 * Lists what a function lists, and does nothing with it: `node bare-list.ts KUBECONFIG metadata|parse PATH…`. With
 * `metadata` it takes metadata alone, reads and drops; with `parse` whole objects, and tells how long JSON.parse took.
 */
import { agentFor, send } from "../e2e/harness/http.ts";
import { readKubeconfig } from "../e2e/harness/kubeconfig.ts";

/** What the lists cost; times in milliseconds, `cpuMs` of the whole program but its start. */
export interface BareList {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly pages: number;
  readonly bytes: number;
  readonly parseMs: number;
  readonly peakBytes: number;
}

const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async function listAll(kubeconfig: string, isParsing: boolean, paths: readonly string[]): Promise<BareList> {
  const server = readKubeconfig(kubeconfig);
  const agent = agentFor(server);
  const start = { wall: performance.now(), cpu: process.cpuUsage() };
  let [pages, bytes, parseMs] = [0, 0, 0];
  for (const path of paths) {
    let next: string | undefined = "";
    while (next !== undefined) {
      const query: string = `?limit=500${next === "" ? "" : `&continue=${encodeURIComponent(next)}`}`;
      const headers = { accept: isParsing ? "application/json" : metadataOnly };
      const chunks: Buffer[] = [];
      for await (const chunk of await send(server, agent, { path: path + query, headers })) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      // The token of the next page stands before the items, so that nothing has to be parsed for it.
      next = /^.{0,400}?"continue":"([^"]+)"/.exec(text)?.[1];
      pages += 1;
      bytes += Buffer.byteLength(text);
      if (!isParsing) continue;
      const parsing = performance.now();
      JSON.parse(text);
      parseMs += performance.now() - parsing;
    }
  }
  const { user, system } = process.cpuUsage(start.cpu);
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  return { wallMs: performance.now() - start.wall, cpuMs: (user + system) / 1000, pages, bytes, parseMs, peakBytes };
}

if (import.meta.main) {
  const [kubeconfig = "", mode, ...paths] = process.argv.slice(2);
  console.log(JSON.stringify(await listAll(kubeconfig, mode === "parse", paths)));
  process.exit();
}
