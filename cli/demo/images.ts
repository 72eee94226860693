import { createServer } from "node:http";
import type { KubeObject } from "../../shared/objects/object.ts";
import { isRecord, stringAt } from "../../shared/objects/path.ts";

/** A small server that answers for every image, as the one of a cluster does. */
export interface ImageServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startImageServer(): Promise<ImageServer> {
  const server = createServer((_, response) => response.writeHead(200, { "content-length": "5" }).end("image"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** Whether a host that is provisioned from this template now could fetch its image. */
export async function canProvision(template: KubeObject): Promise<boolean> {
  try {
    return (await fetch(stringAt(template, "spec.template.spec.image.url") ?? "", { method: "HEAD" })).ok;
  } catch {
    return false;
  }
}

/** A copy of the objects in which every URL below `from` is one below `to`. */
export function servedFrom(objects: readonly KubeObject[], from: string, to: string): readonly KubeObject[] {
  return objects.map((object) => replaced(object, from, to) as KubeObject);
}

function replaced(value: unknown, from: string, to: string): unknown {
  if (typeof value === "string") return value.startsWith(from) ? to + value.slice(from.length) : value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, from, to));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, replaced(inner, from, to)]));
}
