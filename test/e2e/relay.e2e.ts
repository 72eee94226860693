import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { pingEvent, postCloudEvent } from "./harness/cloud-event.ts";
import { type Relay, startRelay } from "./harness/relay.ts";
import { onTeardown } from "./harness/teardown.ts";

/** A receiver that gives the answers in turn, the last one for ever. */
async function receiver(...answers: [status: number, body?: string][]): Promise<string> {
  let count = 0;
  const server = createServer((request, response) => {
    const [status, body = ""] = answers[Math.min(count, answers.length - 1)] ?? [500];
    count += 1;
    request.resume().on("end", () => response.writeHead(status).end(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTeardown("receiver", () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function relayTo(url: string): Promise<Relay> {
  const relay = await startRelay({ retry: 2, backoffMs: 10 });
  relay.deliverTo("receiver", url);
  return relay;
}

test.each([
  ["503 is tried again", [[503], [503], [204]], [503, 503, 204], "delivered"],
  ["404 and 409 are tried again", [[404], [409], [202]], [404, 409, 202], "delivered"],
  ["400 is not", [[400]], [400], "dead-letter"],
  ["500 is given up in the end", [[500]], [500, 500, 500], "dead-letter"],
  ["200 with a greeting is no success", [[200, "hello"]], [502, 502, 502], "dead-letter"],
] as [string, [number, string?][], number[], string][])("%s", async (_, answers, statuses, outcome) => {
  const relay = await relayTo(await receiver(...answers));
  relay.send(pingEvent());
  await relay.idle();
  expect(relay.deliveries).toMatchObject([{ to: "receiver", statuses, outcome }]);
});

test("a receiver that is not there is tried again at its new address", async () => {
  const relay = await relayTo("http://127.0.0.1:1");
  relay.send(pingEvent());
  await relay.idle();
  relay.deliverTo("receiver", await receiver([204]));
  relay.send(pingEvent());
  await relay.idle();
  expect(relay.deliveries.map(({ statuses }) => statuses)).toEqual([[0, 0, 0], [204]]);
});

test("events can be held back, lost and doubled", async () => {
  const relay = await relayTo(await receiver([204]));
  const names = (): unknown[] => relay.deliveries.map(({ event }) => event.data);
  relay.pause();
  relay.send(pingEvent("held"));
  expect(names()).toEqual([]);
  relay.resume();
  await relay.idle();
  relay.drop(({ data }) => data === "lost");
  relay.copies(2);
  for (const name of ["lost", "doubled"]) await postCloudEvent(relay.url, pingEvent(name));
  await relay.idle();
  expect(names()).toEqual(["held", "doubled", "doubled"]);
  expect(relay.received).toHaveLength(3);
});
