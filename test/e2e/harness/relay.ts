import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CloudEvent, readCloudEvent } from "./cloud-event.ts";
import { type Delivery, deliver, type Retries } from "./delivery.ts";
import { textOf } from "./http.ts";
import { onTeardown } from "./teardown.ts";
import { eventually } from "./wait.ts";

export type Filter = (event: CloudEvent) => boolean;

/** Stands where the Broker stands: takes the source's events and passes each to every receiver, in order, one at a time. */
export interface Relay {
  /** The sink address for a source. */
  url: string;
  /** Everything a source sent, also what was dropped. */
  received: CloudEvent[];
  deliveries: Delivery[];
  /** Adds a receiver, or gives one of that name a new address; the filter is the Trigger's. */
  deliverTo(name: string, url: string, filter?: Filter): void;
  /** Takes events in, but passes none on until `resume`. */
  pause(): void;
  resume(): void;
  /** Loses every event that passes the filter from now on; `undefined` ends that. */
  drop(filter: Filter | undefined): void;
  /** Passes each event on this many times; 1 is the ordinary. */
  copies(count: number): void;
  /** Passes on an event as if a source had sent it. */
  send(event: CloudEvent): void;
  /** Waits until nothing is left to pass on. */
  idle(timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

interface Receiver {
  url: string;
  filter: Filter;
  queue: CloudEvent[];
  isBusy: boolean;
}

async function readEvent(request: IncomingMessage): Promise<CloudEvent | undefined> {
  const body = await textOf(request);
  return readCloudEvent(request.headers as Record<string, string>, body);
}

/** Starts a relay on a free loopback port. It answers a source at once, so a slow receiver delays no other. */
export async function startRelay(retries: Retries = { retry: 5, backoffMs: 200 }): Promise<Relay> {
  const received: CloudEvent[] = [];
  const deliveries: Delivery[] = [];
  const receivers = new Map<string, Receiver>();
  let isPaused = false;
  let lost: Filter | undefined;
  let count = 1;

  const work = async (name: string, receiver: Receiver): Promise<void> => {
    if (receiver.isBusy) return;
    receiver.isBusy = true;
    while (!isPaused) {
      const event = receiver.queue.shift();
      if (event === undefined) break;
      deliveries.push(await deliver(name, receiver.url, event, retries));
    }
    receiver.isBusy = false;
  };
  const send = (event: CloudEvent): void => {
    received.push(event);
    if (lost?.(event) === true) return;
    for (const [name, receiver] of receivers) {
      if (!receiver.filter(event)) continue;
      receiver.queue.push(...Array.from({ length: count }, () => event));
      void work(name, receiver);
    }
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const event = await readEvent(request);
    if (event !== undefined) send(event);
    response.writeHead(event === undefined ? 400 : 202).end();
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async (): Promise<void> => {
    isPaused = true;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTeardown("relay", stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    deliveries,
    deliverTo(name, url, filter = () => true) {
      const known = receivers.get(name);
      if (known === undefined) receivers.set(name, { url, filter, queue: [], isBusy: false });
      else Object.assign(known, { url, filter });
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      for (const [name, receiver] of receivers) void work(name, receiver);
    },
    drop(filter) {
      lost = filter;
    },
    copies(wanted) {
      count = wanted;
    },
    send,
    async idle(timeoutMs = 60_000) {
      const isIdle = (): boolean => [...receivers.values()].every(({ queue, isBusy }) => queue.length === 0 && !isBusy);
      await eventually("the relay to have passed everything on", isIdle, { timeoutMs, everyMs: 20 });
    },
    stop,
  };
}
