import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { KubeObject, type ObjectKey } from "../../objects/object.ts";
import { ClusterError, type ServedKind } from "../cluster.ts";
import { Status } from "./api-error.ts";
import { collectionPath, query } from "./paths.ts";
import type { Request } from "./request.ts";

/** Seconds after which the server ends the watch by itself. */
const WATCH_SECONDS = "2";
/** The server replays what it remembers at once, so after a deletion this much silence says that it was the last one. */
const SILENCE_MS = 100;

const WatchEvent = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["ADDED", "MODIFIED", "DELETED"]), object: KubeObject }),
  z.object({ type: z.literal("BOOKMARK") }),
  z.object({ type: z.literal("ERROR"), object: Status }),
]);

/**
 * What the server remembers of the last deletion of an object at or after a resourceVersion: a watch from just before
 * it is replayed with the object's whole body. Undefined when there was none, or where no server would give that
 * resourceVersion.
 *
 * Throws ClusterError "expired" when the server's memory begins later.
 */
export async function lastDeletion(
  request: Request,
  kind: ServedKind,
  { namespace, name }: ObjectKey,
  resourceVersion: string,
): Promise<KubeObject | undefined> {
  // The API server keeps them as unsigned 64-bit numbers; 0 and below would ask for any state at all.
  if (!/^\d{1,19}$/.test(resourceVersion) || BigInt(resourceVersion) < 2n) return undefined;
  const watch = {
    watch: "1",
    timeoutSeconds: WATCH_SECONDS,
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: String(BigInt(resourceVersion) - 1n),
  };
  const path = collectionPath(kind, namespace) + query(watch);
  return request({ method: "GET", path }, (response) => lastDeletionIn(response, name));
}

async function lastDeletionIn(response: IncomingMessage, name: string): Promise<KubeObject | undefined> {
  let last: KubeObject | undefined;
  let silence: NodeJS.Timeout | undefined;
  try {
    for await (const line of linesOf(response)) {
      const event = readEvent(line);
      if (event.type === "ERROR") throw watchError(event.object);
      if (event.type === "DELETED" && event.object.metadata.name === name) last = event.object;
      clearTimeout(silence);
      if (last !== undefined) silence = setTimeout(() => response.destroy(), SILENCE_MS);
    }
    return last;
  } catch (error) {
    // Ended by us after the silence, or by the server after the deletion was told: nothing is missing.
    if (last !== undefined && !(error instanceof ClusterError)) return last;
    throw error;
  } finally {
    clearTimeout(silence);
    response.destroy();
  }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding("utf8");
  let rest = "";
  for await (const chunk of response) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}

function readEvent(line: string): z.infer<typeof WatchEvent> {
  try {
    return WatchEvent.parse(JSON.parse(line));
  } catch (error) {
    throw new ClusterError("unavailable", "the API server's watch tells something unknown", { cause: error });
  }
}

// Failures of a watch come as events of a successful answer.
function watchError({ code, reason, message }: Status): ClusterError {
  const isExpired = code === 410 || reason === "Expired" || reason === "Gone";
  return new ClusterError(isExpired ? "expired" : "unavailable", `watch: ${message ?? reason ?? code}`);
}
