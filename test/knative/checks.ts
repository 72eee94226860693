import { isDeepStrictEqual } from "node:util";
import { groupOf } from "../../shared/objects/object.ts";
import { passes } from "./filters.ts";
import { grantsIn, grantsOf, rolesIn } from "./grants.ts";
import { type Manifest, ofKind } from "./manifests.ts";
import { FUNCTIONS } from "./needs.ts";
import { kindsOf, pluralOf } from "./providers.ts";
import { ApiServerSource, Broker, PingSource, Service, Trigger } from "./schemas.ts";

type Problems = readonly string[];
/** What is wrong with these manifests, a sentence each; nothing where all is well. */
export type Check = (manifests: readonly Manifest[]) => Problems;

const servicesIn = (manifests: readonly Manifest[]) => ofKind(manifests, "Service.serving.knative.dev", Service);
const triggersIn = (manifests: readonly Manifest[]) => ofKind(manifests, "Trigger.eventing.knative.dev", Trigger);
const brokersIn = (manifests: readonly Manifest[]) => ofKind(manifests, "Broker.eventing.knative.dev", Broker);
const sourcesIn = (manifests: readonly Manifest[]) =>
  ofKind(manifests, "ApiServerSource.sources.knative.dev", ApiServerSource);
const pingsIn = (manifests: readonly Manifest[]) => ofKind(manifests, "PingSource.sources.knative.dev", PingSource);

/** A Trigger's delivery replaces the Broker's, so whatever a Trigger leaves out does not happen. */
export const everyDeliveryIsFull: Check = (manifests) => {
  const brokers = brokersIn(manifests);
  const names = brokers.map(({ metadata }) => metadata.name);
  const used = new Set(triggersIn(manifests).map(({ spec }) => spec.broker));
  const senders = [
    ...triggersIn(manifests).map(({ metadata, spec }) => ({
      who: `Trigger ${metadata.name}`,
      delivery: spec.delivery,
    })),
    ...brokers
      .filter(({ metadata }) => used.has(metadata.name))
      .map(({ metadata, spec }) => ({ who: `Broker ${metadata.name}`, delivery: spec.delivery ?? {} })),
  ];
  return [
    ...[...used].filter((name) => !names.includes(name)).map((name) => `Broker ${name} is not there`),
    ...senders.flatMap(({ who, delivery }) => {
      const fields = ["retry", "backoffPolicy", "backoffDelay", "timeout", "deadLetterSink"] as const;
      const sink = delivery.deadLetterSink?.ref;
      const isSinkThere = sink === undefined || names.includes(sink.name);
      return [
        ...fields.filter((field) => !delivery[field]).map((field) => `${who} has no ${field}`),
        ...(isSinkThere ? [] : [`${who} sends its dead letters to ${sink.name}, which is not there`]),
      ];
    }),
  ];
};

/** Given up on sooner than its function gives up itself, an event would be worked on twice at once. */
export const triggersWaitLongEnough: Check = (manifests) =>
  triggersIn(manifests).flatMap(({ metadata, spec }) => {
    const service = servicesIn(manifests).find((one) => one.metadata.name === spec.subscriber.ref.name);
    if (service === undefined)
      return [`Trigger ${metadata.name} leads to ${spec.subscriber.ref.name}, which is not there`];
    const patience = Temporal.Duration.from(spec.delivery.timeout ?? "PT0S").total("seconds");
    const longest = service.spec.template.spec.timeoutSeconds ?? 300;
    return patience > longest ? [] : [`Trigger ${metadata.name} waits ${patience} s for up to ${longest} s of work`];
  });

const REPLIES = ["io.capi-caretaker.sweep.completed", "io.capi-caretaker.template.held"];

/** A reply that reaches a function again can make a loop, whatever else it carries. */
export const noReplyComesBack: Check = (manifests) => {
  const names = [...kindsOf().map(({ kind }) => kind), ""];
  const sources = pingsIn(manifests).map(({ metadata }) => `/apis/v1/namespaces/x/pingsources/${metadata.name}`);
  const replies = REPLIES.flatMap((type) =>
    names.flatMap((kind) => [...sources, "/capi-caretaker/x"].map((source) => ({ type, kind, source }))),
  );
  return triggersIn(manifests)
    .filter(({ spec }) => replies.some((reply) => passes(spec.filters, reply)))
    .map(({ metadata }) => `Trigger ${metadata.name} takes replies`);
};

export const everyFunctionHasItsOwnAccount: Check = (manifests) => {
  const there = new Set(manifests.filter(({ kind }) => kind === "ServiceAccount").map(({ metadata }) => metadata.name));
  const used = [
    ...servicesIn(manifests).map(({ metadata, spec }) => ({
      who: metadata.name,
      account: spec.template.spec.serviceAccountName ?? "default",
    })),
    ...[...new Set(sourcesIn(manifests).map(({ spec }) => spec.serviceAccountName ?? "default"))].map((account) => ({
      who: "a source",
      account,
    })),
  ];
  return used.flatMap(({ who, account }, index) => {
    const other = used.find((one, place) => place < index && one.account === account);
    return [
      ...(other === undefined ? [] : [`${who} and ${other.who} share the account ${account}`]),
      ...(there.has(account) ? [] : [`${who} runs as ${account}, which is not there`]),
    ];
  });
};

const TOO_MUCH = ["*", "escalate", "bind", "impersonate", "deletecollection", "update"];

/** Rules that an auditor would stop at. */
export const noRoleGrantsTooMuch: Check = (manifests) =>
  rolesIn(manifests).flatMap(({ metadata, rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) => [
      ...(resources.some((name) => /^(secrets|serviceaccounts)(\/|$)/.test(name))
        ? [`${metadata.name} grants ${resources.join(", ")}`]
        : []),
      ...([...apiGroups, ...resources].some((name) => name.includes("*")) ? [`${metadata.name} has a wildcard`] : []),
      ...verbs.filter((verb) => TOO_MUCH.includes(verb)).map((verb) => `${metadata.name} grants the verb ${verb}`),
    ]),
  );

const WRITES = ["create", "delete", "patch"];

/** The dry-run overlay takes every role out that is marked as writing, so the mark has to be right. */
export const everyWriteIsMarked: Check = (manifests) =>
  rolesIn(manifests).flatMap((role) => {
    const writes = role.rules.some(({ verbs }) => verbs.some((verb) => WRITES.includes(verb)));
    const isMarked = role.metadata.labels["capi-caretaker.io/writes"] === "true";
    if (writes === isMarked) return [];
    return [`${role.metadata.name} ${isMarked ? "is marked as writing and does not" : "writes without the mark"}`];
  });

/** A ClusterRole that neither a binding nor a label leads to grants nothing to anyone. */
export const noRoleIsIdle: Check = (manifests) => {
  const reached = new Set(
    manifests
      .filter(({ kind }) => kind === "ServiceAccount")
      .flatMap(({ metadata }) => grantsOf(metadata.name, manifests))
      .map((grant) => grant.replace(" in own namespace", "")),
  );
  return rolesIn(manifests)
    .filter((role) => grantsIn(role).some((grant) => !reached.has(grant)))
    .map(({ metadata }) => `${metadata.name} is bound to nobody`);
};

/** One apiVersion a source: where it is not served, the whole adapter stops. */
export const everySourceIsSafe: Check = (manifests) => {
  const brokers = brokersIn(manifests).map(({ metadata }) => metadata.name);
  return sourcesIn(manifests).flatMap(({ metadata, spec }) => {
    const versions = new Set(spec.resources.map(({ apiVersion }) => apiVersion));
    const say = (isWrong: boolean, what: string) => (isWrong ? [`ApiServerSource ${metadata.name} ${what}`] : []);
    return [
      ...say(versions.size !== 1, `watches ${[...versions].join(" and ")}`),
      ...say(spec.mode !== "Resource", "does not send whole objects"),
      ...say(!isDeepStrictEqual(spec.namespaceSelector, {}), "has a watch for each namespace"),
      ...say(!brokers.includes(spec.sink.ref.name), `sends to ${spec.sink.ref.name}, which is not there`),
      ...say(spec.ceOverrides?.extensions.partitionkey !== metadata.name, "has no partition of its own"),
    ];
  });
};

/** A source reads what it watches, all of it and nothing else. */
export const everySourceMayWatch: Check = (manifests) => {
  const byAccount = Map.groupBy(sourcesIn(manifests), ({ spec }) => spec.serviceAccountName ?? "default");
  return [...byAccount].flatMap(([account, sources]) => {
    const needed = sources.flatMap(({ spec }) =>
      spec.resources.flatMap(({ apiVersion, kind }) => {
        const group = groupOf(apiVersion);
        return ["get", "list", "watch"].map((verb) => `${verb} ${group}/${pluralOf({ group, kind })}`);
      }),
    );
    return differences(account, needed, grantsOf(account, manifests));
  });
};

/** What is needed and not granted, and what is granted and not needed. */
export function differences(account: string, needed: readonly string[], granted: readonly string[]): Problems {
  return [
    ...needed.filter((one) => !granted.includes(one)).map((one) => `${account} lacks ${one}`),
    ...granted.filter((one) => !needed.includes(one)).map((one) => `${account} has ${one} and needs it not`),
  ];
}

const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

export const everyFunctionIsServedWell: Check = (manifests) => {
  const services = servicesIn(manifests);
  const missing = FUNCTIONS.filter((name) => !services.some(({ metadata }) => metadata.name === name));
  return [
    ...missing.map((name) => `Service ${name} is not there`),
    ...services.flatMap((service) => problemsOf(service).map((what) => `Service ${service.metadata.name} ${what}`)),
  ];
};

const SCALES = ["min-scale", "max-scale"].map((name) => `autoscaling.knative.dev/${name}`);

/** Infinite for what is no number of MiB. */
function mebibytes(quantity = ""): number {
  const [, number] = /^(\d+)Mi$/.exec(quantity) ?? [];
  return number === undefined ? Number.POSITIVE_INFINITY : Number(number);
}

function problemsOf({ metadata, spec }: Service): Problems {
  const { metadata: template, spec: pod } = spec.template;
  const [container, ...others] = pod.containers;
  if (container === undefined || others.length > 0) return ["has not one container"];
  const { requests = {}, limits = {} } = container.resources ?? {};
  const scale = template.annotations;
  const facts: readonly (readonly [isWell: boolean, problem: string])[] = [
    [metadata.labels["networking.knative.dev/visibility"] === "cluster-local", "can be reached from outside"],
    [scale["autoscaling.knative.dev/min-scale"] === "0", "does not scale to zero"],
    [Number(scale["autoscaling.knative.dev/max-scale"]) >= 1, "scales without a limit"],
    [(pod.containerConcurrency ?? 0) > 0, "takes any number of requests at once"],
    [pod.timeoutSeconds !== undefined, "has no timeout"],
    [template.labels["capi-caretaker.io/function"] === metadata.name, "is in no NetworkPolicy"],
    [container.image === "capi-caretaker", "has an image of its own"],
    [isDeepStrictEqual(container.args, [metadata.name]), "serves another function"],
    [container.readinessProbe?.httpGet.path === "/health/readiness", "has no readiness probe"],
    [container.livenessProbe?.httpGet.path === "/health/liveness", "has no liveness probe"],
    // Without a period Knative's queue-proxy asks every 50 ms until the function is ready (serving pkg/queue/readiness). With
    // one, or with a startup probe, which is the kubelet's, it is asked once a second at most: a start is done well before.
    [container.readinessProbe?.periodSeconds === undefined, "is asked by the second whether it is ready"],
    [container.startupProbe === undefined, "waits for the kubelet at its start"],
    [[requests, limits].every((all) => all.cpu && all.memory), "says not what it takes"],
    [mebibytes(requests.memory) <= mebibytes(limits.memory), "asks for more memory than it may take"],
    [Object.keys(scale).every((name) => SCALES.includes(name)), "says in another way how it scales"],
    [isDeepStrictEqual(container.securityContext, RESTRICTED), "is not restricted"],
  ];
  return facts.filter(([isWell]) => !isWell).map(([, problem]) => problem);
}

/** The minutes of an hour at which a `*\/n` or `a-59/n` schedule ticks; empty for anything else. */
function minutesOf(schedule: string): readonly number[] {
  const [, from = "0", step] = /^(?:\*|(\d+)-59)\/(\d+) \* \* \* \*$/.exec(schedule) ?? [];
  if (step === undefined) return [];
  return Array.from({ length: 60 }, (_, minute) => minute).filter(
    (minute) => minute >= Number(from) && (minute - Number(from)) % Number(step) === 0,
  );
}

/** Each function sweeps six times an hour, never two in the same minute, each tick for one function. */
export const everyFunctionSweeps: Check = (manifests) => {
  const pings = pingsIn(manifests);
  const ticks = pings.flatMap(({ spec }) => minutesOf(spec.schedule));
  return FUNCTIONS.flatMap((name) => {
    const ping = pings.find(({ metadata }) => metadata.name === `sweep-${name}`);
    if (ping === undefined) return [`${name} has no sweep`];
    const source = `/apis/v1/namespaces/team-a/pingsources/${ping.metadata.name}`;
    const takers = triggersIn(manifests)
      .filter(({ spec }) => spec.broker === ping.spec.sink.ref.name)
      .filter(({ spec }) => passes(spec.filters, { type: "dev.knative.sources.ping", source }))
      .map(({ spec }) => spec.subscriber.ref.name);
    const minutes = minutesOf(ping.spec.schedule);
    return [
      ...(minutes.length === 6 ? [] : [`${name} sweeps ${minutes.length} times an hour`]),
      ...(minutes.every((minute) => ticks.indexOf(minute) === ticks.lastIndexOf(minute))
        ? []
        : [`${name} sweeps in another's minute`]),
      ...(isDeepStrictEqual(takers, [name]) ? [] : [`a sweep of ${name} reaches ${takers.join(", ") || "nobody"}`]),
    ];
  });
};

/** Every object of ours stands in the namespace it is written for; rules for the whole cluster stand in none. */
export const everyObjectIsAtHome: Check = (manifests) => {
  const ofCluster = ["Namespace", "ClusterRole", "ClusterRoleBinding"];
  return manifests
    .filter(({ kind, metadata }) => (metadata.namespace === "capi-caretaker") === ofCluster.includes(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name} is in namespace ${metadata.namespace ?? "none"}`);
};

export const CHECKS = {
  everyDeliveryIsFull,
  triggersWaitLongEnough,
  noReplyComesBack,
  everyFunctionHasItsOwnAccount,
  noRoleGrantsTooMuch,
  everyWriteIsMarked,
  noRoleIsIdle,
  everySourceIsSafe,
  everySourceMayWatch,
  everyFunctionIsServedWell,
  everyFunctionSweeps,
  everyObjectIsAtHome,
} as const satisfies Readonly<Record<string, Check>>;
