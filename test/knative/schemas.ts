import { z } from "zod";

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
});

const Reference = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string() });
const Destination = z.object({ ref: Reference, audience: z.string().optional() });

const Delivery = z.strictObject({
  deadLetterSink: Destination.optional(),
  retry: z.number().optional(),
  backoffPolicy: z.string().optional(),
  backoffDelay: z.string().optional(),
  timeout: z.string().optional(),
});

const Attributes = z.record(z.string(), z.string());

/** One filter of a Trigger; CESQL is not used, so that filters can be told apart by attributes alone. */
export interface Filter {
  readonly exact?: Record<string, string> | undefined;
  readonly prefix?: Record<string, string> | undefined;
  readonly suffix?: Record<string, string> | undefined;
  readonly all?: Filter[] | undefined;
  readonly any?: Filter[] | undefined;
  readonly not?: Filter | undefined;
}

const Filter: z.ZodType<Filter> = z.lazy(() =>
  z.strictObject({
    exact: Attributes.optional(),
    prefix: Attributes.optional(),
    suffix: Attributes.optional(),
    all: z.array(Filter).min(1).optional(),
    any: z.array(Filter).min(1).optional(),
    not: Filter.optional(),
  }),
);

export const Broker = z.object({ metadata, spec: z.object({ delivery: Delivery.optional() }).default({}) });

export const Trigger = z.object({
  metadata,
  spec: z.strictObject({
    broker: z.string(),
    filters: z.array(Filter).default([]),
    subscriber: Destination,
    delivery: Delivery.default({}),
  }),
});
export type Trigger = z.infer<typeof Trigger>;

export const ApiServerSource = z.object({
  metadata,
  spec: z.strictObject({
    mode: z.string().optional(),
    namespaceSelector: z.record(z.string(), z.unknown()).optional(),
    serviceAccountName: z.string().optional(),
    resources: z.array(z.strictObject({ apiVersion: z.string(), kind: z.string() })),
    ceOverrides: z.object({ extensions: Attributes }).optional(),
    sink: Destination,
  }),
});
export type ApiServerSource = z.infer<typeof ApiServerSource>;

export const PingSource = z.object({ metadata, spec: z.object({ schedule: z.string(), sink: Destination }) });

const Probe = z.object({ httpGet: z.object({ path: z.string() }), periodSeconds: z.number().optional() });

const Container = z.looseObject({
  image: z.string(),
  args: z.array(z.string()).default([]),
  readinessProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  startupProbe: Probe.optional(),
  resources: z.object({ requests: Attributes.default({}), limits: Attributes.default({}) }).optional(),
  securityContext: z.unknown().optional(),
});

/** A Knative Service. */
export const Service = z.object({
  metadata,
  spec: z.object({
    template: z.object({
      metadata: metadata.omit({ name: true }),
      spec: z.object({
        serviceAccountName: z.string().optional(),
        containerConcurrency: z.number().optional(),
        timeoutSeconds: z.number().optional(),
        containers: z.array(Container),
      }),
    }),
  }),
});
export type Service = z.infer<typeof Service>;

const Rule = z.strictObject({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  verbs: z.array(z.string()),
  resourceNames: z.array(z.string()).optional(),
});

export const Role = z.object({
  kind: z.string(),
  metadata,
  rules: z.array(Rule).default([]),
  aggregationRule: z
    .object({ clusterRoleSelectors: z.array(z.strictObject({ matchLabels: z.record(z.string(), z.string()) })) })
    .optional(),
});
export type Role = z.infer<typeof Role>;

export const Binding = z.object({
  kind: z.string(),
  metadata,
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string() })),
});
