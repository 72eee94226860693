import { beforeAll, describe, expect, test } from "vitest";
import { canRefer } from "../../shared/objects/kinds.ts";
import { COMPONENTS, kustomizations, type Manifest } from "../knative/manifests.ts";
import { FUNCTIONS } from "../knative/needs.ts";
import { kindsOf, pluralOf } from "../knative/providers.ts";
import { type ControlPlane, startControlPlane } from "./harness/control-plane.ts";
import { capiCrds, installCrds, knativeCrds, providerCrds } from "./harness/crds.ts";
import { kustomized, kustomizedTogether } from "./harness/kustomize.ts";
import { type KubeObject, valueAt } from "./harness/objects.ts";
import { eventually } from "./harness/wait.ts";
import { grantsWith, mayDo } from "./scenario/rights.ts";

const overlays = kustomizations("overlays").map((folder) => folder.replace("overlays/", ""));
const home = "capi-caretaker";
let controlPlane: ControlPlane;

/** The path of an object, with the plural that the definitions or Kubernetes itself have for it. */
function pathOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = kind === "NetworkPolicy" ? "networkpolicies" : pluralOf({ group: "", kind });
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${root}${scope}/${plural}/${encodeURIComponent(name)}`;
}

/** What the API server has against an object, its warnings included; unknown fields are errors. */
async function objections(object: Manifest): Promise<readonly string[]> {
  const { status, body } = await controlPlane.api.raw({
    method: "PATCH",
    path: `${pathOf(object)}?dryRun=All&fieldManager=e2e&fieldValidation=Strict&force=true`,
    contentType: "application/apply-patch+yaml",
    body: JSON.stringify(object),
  });
  return status === 200 || status === 201 ? [] : [`${object.kind} ${object.metadata.name}: ${status} ${body}`];
}

/** Where a grant has to hold and, for one in the own namespace, where it must not. */
function placesOf(grant: string): { bare: string; holds: string; ends: string | undefined } {
  const bare = grant.replace(" in own namespace", "");
  return bare === grant ? { bare, holds: "elsewhere", ends: undefined } : { bare, holds: home, ends: "elsewhere" };
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await installCrds(controlPlane.api, knativeCrds());
  for (const name of [home, "team-a"]) {
    await controlPlane.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
});

describe("kustomize build, seen by the API server", () => {
  test.each(overlays)("overlay %s -> every object is accepted", async (overlay) => {
    const all = await Promise.all(kustomized(`overlays/${overlay}`).map(objections));
    expect(all.flat()).toEqual([]);
  });

  test("every component in turn -> every object is accepted", async () => {
    const seen = new Map<string, Manifest>();
    for (const component of COMPONENTS) {
      for (const object of kustomized(component))
        seen.set(`${component.replace(/-v\w+$/, "")} ${JSON.stringify(object)}`, object);
    }
    const all = await Promise.all([...seen.values()].map(objections));
    expect([seen.size > 60, ...all.flat()]).toEqual([true]);
  });

  const records = kustomizations("options").filter((folder) => folder.includes("/records-"));
  test.each(records)("%s -> its role is accepted", async (folder) => {
    const all = await Promise.all(kustomized(folder).map(objections));
    expect([kustomized(folder).length, ...all.flat()]).toEqual([1]);
  });

  test("an object with a field that is none -> is refused", async () => {
    const [broker] = kustomized("overlays/minimal").filter(({ kind }) => kind === "Broker");
    expect(broker).toBeDefined();
    const broken = { ...broker, spec: { delivrey: {} } } as unknown as Manifest;
    expect(await objections(broken)).toEqual([expect.stringContaining("delivrey")]);
  });
});

describe("what the overlays change", () => {
  const of = (folder: string, kind: string) => kustomized(folder).filter((one) => one.kind === kind);
  const services = (folder: string) =>
    of(folder, "Service").map((one) => valueAt(one, "spec", "template", "spec", "containers", 0, "env"));

  test("kafka -> both Brokers are Kafka's, every Trigger is ordered", () => {
    const brokers = of("overlays/kafka", "Broker").map(
      ({ metadata }) => metadata.annotations?.["eventing.knative.dev/broker.class"],
    );
    expect(brokers).toEqual(["Kafka", "Kafka"]);
    const triggers = of("overlays/kafka", "Trigger").map(
      ({ metadata }) => metadata.annotations?.["kafka.eventing.knative.dev/delivery.order"],
    );
    expect(triggers).toEqual(Array(8).fill("ordered"));
  });

  test("oidc -> every Trigger sends a token for the function it leads to, which knows audience and senders", () => {
    for (const trigger of of("overlays/oidc", "Trigger")) {
      const subscriber = valueAt(trigger, "spec", "subscriber");
      const audience = `serving.knative.dev/service/${home}/${String(valueAt(subscriber, "ref", "name"))}`;
      expect(valueAt(subscriber, "audience")).toBe(audience);
      const known = services("overlays/oidc").filter((env) => JSON.stringify(env).includes(JSON.stringify(audience)));
      const sender = `system:serviceaccount:${home}:${trigger.metadata.name}-oidc-eventing.knative.dev-trigger`;
      expect(known.map((env) => JSON.stringify(env).includes(sender))).toEqual([true]);
    }
  });

  test("dry-run -> every function is told, and no role is left that writes", () => {
    const told = services("overlays/dry-run").map((env) =>
      JSON.stringify(env).includes('{"name":"DRY_RUN","value":"true"}'),
    );
    expect(told).toEqual(Array(4).fill(true));
    const roles = [...of("overlays/dry-run", "ClusterRole"), ...of("overlays/dry-run", "Role")];
    const verbs = new Set(
      roles.flatMap((one) => ((one.rules ?? []) as { verbs: string[] }[]).flatMap((rule) => rule.verbs)),
    );
    expect([...verbs].toSorted()).toEqual(["get", "list", "watch"]);
  });

  test("keep-charts -> collect-templates alone is told whose records it reads", () => {
    const told = (name: string) => JSON.stringify(services("overlays/keep-charts")).split(name).length - 1;
    const [service, ...others] = of("overlays/keep-charts", "Service").filter((one) =>
      JSON.stringify(one).includes('{"name":"RETIRE_ORPHANS","value":"helm"}'),
    );
    expect([service?.metadata.name, others, told("RETIRE_ORPHANS")]).toEqual(["collect-templates", [], 1]);
  });

  test("tenant -> nothing of capi-caretaker's own namespace is left, and only facts without a namespace are bound to the cluster", () => {
    expect(JSON.stringify(kustomized("overlays/tenant")).match(/"(namespace|value)":"capi-caretaker"/g)).toBeNull();
    const bound = of("overlays/tenant", "ClusterRoleBinding").map(({ metadata }) => metadata.name);
    expect(bound.toSorted()).toEqual(["capi-version", "kinds", "namespaces"].map((name) => `${home}:${name}:team-a`));
    const selectors = of("overlays/tenant", "ApiServerSource").map((one) => valueAt(one, "spec", "namespaceSelector"));
    expect(selectors).toEqual(Array(4).fill(undefined));
  });
});

test("minimal, applied -> a function may do what it needs, where it needs it, and reads no secret", async () => {
  const { api } = controlPlane;
  for (const object of kustomized("overlays/minimal")) await api.apply(object as KubeObject);
  for (const name of FUNCTIONS) {
    const account = { namespace: home, name };
    const needed = grantsWith(name, "core", "kubeadm", "metal3").map(placesOf);
    await eventually(`the rules of ${name} to be added up`, async () => {
      return (await Promise.all(needed.map(({ bare, holds }) => mayDo(api, account, bare, holds)))).every(Boolean);
    });
    const denied = [
      ...["get", "list", "watch"].map((verb) => ({ grant: `${verb} /secrets`, at: home })),
      ...needed.flatMap(({ bare, ends }) => (ends === undefined ? [] : [{ grant: bare, at: ends }])),
      { grant: "update infrastructure.cluster.x-k8s.io/metal3machinetemplates", at: "elsewhere" },
      { grant: "delete cluster.x-k8s.io/machines", at: "elsewhere" },
      { grant: "patch metal3.io/baremetalhosts", at: "elsewhere" },
    ];
    const allowed = await Promise.all(
      denied.map(async ({ grant, at }) => ((await mayDo(api, account, grant, at)) ? [grant] : [])),
    );
    expect([name, ...allowed.flat()]).toEqual([name]);
  }
});

test("keep-charts with the other tools' options, applied -> collect-templates reads its records, Secrets in one namespace", async () => {
  const { api } = controlPlane;
  const others = ["options/records-flux", "options/records-argocd"];
  for (const object of kustomizedTogether(["overlays/keep-charts"], others)) await api.apply(object as KubeObject);
  const collect = { namespace: home, name: "collect-templates" };
  const secrets = ["get /secrets", "list /secrets"];
  const records = [
    "get helm.toolkit.fluxcd.io/helmreleases",
    "get kustomize.toolkit.fluxcd.io/kustomizations",
    "get argoproj.io/applications",
    "list argoproj.io/applications",
  ];
  const all = (grants: readonly string[], at: string, account = collect) =>
    Promise.all(grants.map((grant) => mayDo(api, account, grant, at)));
  await eventually("the records' rights to be added up", async () => {
    return [...(await all([...secrets, ...records], "team-a")), ...(await all(records, home))].every(Boolean);
  });
  const denied = [
    ...(await all([...secrets, "list helm.toolkit.fluxcd.io/helmreleases"], home)),
    ...(await all(["watch /secrets", "patch /secrets", "patch argoproj.io/applications"], "team-a")),
  ];
  for (const name of FUNCTIONS.filter((one) => one !== collect.name)) {
    denied.push(...(await all([...secrets, ...records], "team-a", { namespace: home, name })));
  }
  expect(denied).toEqual(denied.map(() => false));
});

test("the providers' own definitions -> have the kinds and plurals that the components speak of", () => {
  const real = [...capiCrds(), ...providerCrds()].map(({ spec }) => ({
    group: spec.group,
    kind: spec.names.kind,
    plural: spec.names.plural,
  }));
  const ours = real.filter(canRefer);
  const wrong = ours.filter(({ plural, ...kind }) => plural !== pluralOf(kind));
  expect(wrong).toEqual([]);
  const known = kindsOf("core", "kubeadm", "metal3", "rke2").map(({ group, kind }) => `${kind}.${group}`);
  expect(ours.map(({ group, kind }) => `${kind}.${group}`).toSorted()).toEqual(known.toSorted());
});
