import { readFileSync } from "node:fs";
import type { Child } from "./process.ts";
import { eventually } from "./wait.ts";

/**
 * Has `count` requests reach a server at one moment, however busy the machine is: the process is stopped until all of them wait
 * in its sockets. Linux alone. Returns what `post`, which sends them, gives.
 */
export async function atOnce<Result>(
  server: Child & { readonly url: string },
  count: number,
  post: () => Promise<Result>,
): Promise<Result> {
  server.kill("SIGSTOP");
  try {
    const posted = post();
    posted.catch(() => undefined);
    await eventually(`${count} requests to wait`, () => waitingAt(server) >= count, { everyMs: 10 });
    server.kill("SIGCONT");
    return await posted;
  } finally {
    server.kill("SIGCONT");
  }
}

/** Connections to the server's port on which something came that nobody has read (proc(5), net/tcp). */
function waitingAt({ pid, url }: Child & { readonly url: string }): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const tables = ["tcp", "tcp6"].map((table) => readFileSync(`/proc/${pid}/net/${table}`, "utf8"));
  const rows = tables.flatMap((table) => table.trim().split("\n").slice(1));
  return rows.filter((row) => {
    const [, local = "", , state, queues = ""] = row.trim().split(/\s+/);
    return local.endsWith(`:${port}`) && state === "01" && Number.parseInt(queues.split(":")[1] ?? "0", 16) > 0;
  }).length;
}
