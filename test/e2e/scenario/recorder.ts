import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CloudEvent, readCloudEvent } from "../harness/cloud-event.ts";
import { textOf } from "../harness/http.ts";
import { onTeardown } from "../harness/teardown.ts";

/** A subscriber that takes every event and writes it down. */
export interface Recorder {
  url: string;
  events: CloudEvent[];
}

/** Starts a recorder on a free loopback port. It ends at teardown. */
export async function startRecorder(): Promise<Recorder> {
  const events: CloudEvent[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const event = readCloudEvent(request.headers as Record<string, string>, await textOf(request));
    if (event !== undefined) events.push(event);
    response.writeHead(event === undefined ? 400 : 204).end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTeardown("recorder", async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, events };
}
