import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { kubernetesCluster } from "../../../../shared/cluster/kubernetes/cluster.ts";
import { CORE, INFRASTRUCTURE } from "../../../../shared/objects/kinds.ts";
import { metal3MachineTemplate } from "../../../build/objects.ts";
import {
  type Answer,
  type Asked,
  clusterOn,
  discovery,
  type FakeApi,
  fakeApi,
  kubeconfigFor,
  type Resource,
  status,
} from "./fake-api.ts";

const TEMPLATE = { group: INFRASTRUCTURE, kind: "Metal3MachineTemplate" };
const key = { ...TEMPLATE, namespace: "sylva", name: "t" };
const templates: Resource = { ...TEMPLATE, version: "v1beta1", plural: "metal3machinetemplates" };
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const pageNotFound: Answer = { status: 404, body: "404 page not found\n" };

const listOf = (items: readonly object[], next = ""): Answer => ({
  body: { kind: "List", metadata: { resourceVersion: "9", continue: next }, items },
});
const definitions = (...names: readonly string[]) => listOf(names.map((name) => ({ metadata: { name } })));
const item = (name: string) => ({ metadata: { name, namespace: "sylva" } });

describe("discovery", () => {
  it("tells each kind once, at the first version of its group that serves it, in two requests", async () => {
    const api = await fakeApi(({ path }) =>
      path === DEFINITIONS
        ? definitions("clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io", "old.cluster.x-k8s.io", "a.b.example")
        : discovery(
            { group: CORE, version: "v1beta2", kind: "Cluster", plural: "clusters" },
            { group: CORE, version: "v1beta1", kind: "Cluster", plural: "clusters" },
            { group: CORE, version: "v1beta1", kind: "Machine", plural: "machines" },
            { group: "authorization.k8s.io", version: "v1", kind: "Review", plural: "reviews", verbs: ["create"] },
            { group: "example", version: "v1", kind: "Wide", plural: "wides", scope: "Cluster" },
          ),
    );
    const { served, versions, hidden } = await (await clusterOn(api)).discover();
    expect(served.filter(({ group }) => group !== "")).toEqual([
      { group: CORE, version: "v1beta2", kind: "Cluster", plural: "clusters", namespaced: true },
      { group: CORE, version: "v1beta1", kind: "Machine", plural: "machines", namespaced: true },
      { group: "example", version: "v1", kind: "Wide", plural: "wides", namespaced: false },
    ]);
    expect(served.filter(({ group }) => group === "").map(({ kind }) => kind)).toEqual([
      "Namespace",
      "ConfigMap",
      "Secret",
    ]);
    expect(versions.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
      `${CORE}/v1beta2 Cluster`,
      `${CORE}/v1beta1 Cluster`,
      `${CORE}/v1beta1 Machine`,
      "example/v1 Wide",
    ]);
    expect(hidden).toEqual([
      { group: CORE, plural: "old" },
      { group: "b.example", plural: "a" },
    ]);
    expect(api.calls().toSorted()).toEqual(["GET /apis", `GET ${DEFINITIONS}`]);
    const accepts = Object.fromEntries(api.asked.map(({ path, headers }) => [path, headers.accept]));
    expect(accepts["/apis"]).toContain("g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    expect(accepts[DEFINITIONS]).toContain("as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  });

  it("is asked again by its ETag: unchanged -> no more than that; a kind more -> read anew; something hidden -> its definitions too", async () => {
    let tag = '"1"';
    let hiddenNames: readonly string[] = [];
    const api = await fakeApi(({ path, headers }) => {
      if (path === DEFINITIONS) return definitions(...hiddenNames);
      if (headers["if-none-match"] === tag) return { status: 304, body: "" };
      const machines = { group: CORE, version: "v1beta1", kind: "Machine", plural: "machines" };
      const found = discovery(templates, ...(tag === '"2"' ? [machines] : []));
      return typeof found === "string" ? found : { ...found, headers: { etag: tag } };
    });
    const cluster = await clusterOn(api);
    const first = await cluster.discover();
    expect(await cluster.discover()).toEqual(first);
    expect(api.calls()).toEqual(["GET /apis", `GET ${DEFINITIONS}`, "GET /apis"]);
    tag = '"2"';
    hiddenNames = ["old.cluster.x-k8s.io"];
    const { served, hidden } = await cluster.discover();
    expect([served.length - first.served.length, hidden.length]).toEqual([1, 1]);
    hiddenNames = [];
    expect((await cluster.discover()).hidden).toEqual([]);
    const twice = ["GET /apis", `GET ${DEFINITIONS}`];
    expect(api.calls().slice(3)).toEqual([...twice, ...twice]);
  });

  it.each<readonly [string, Answer, Answer, string]>([
    ["the groups cannot be read", status(403, "Forbidden"), definitions(), "forbidden"],
    ["the definitions cannot be read", discovery(templates), status(403, "Forbidden"), "forbidden"],
    ["a server without aggregated discovery", { body: { kind: "APIGroupList" } }, definitions(), "unavailable"],
  ])("%s -> no discovery", async (_, groups, ofDefinitions, failure) => {
    const api = await fakeApi(({ path }) => (path === "/apis" ? groups : ofDefinitions));
    await expect((await clusterOn(api)).discover()).rejects.toMatchObject({ failure });
  });
});

describe("a connection ahead of the first call", () => {
  const connected = async (api: FakeApi, soon?: Promise<void>) => {
    return kubernetesCluster({ kubeconfig: kubeconfigFor(api.url) }, async () => undefined, soon);
  };

  it("is made when it may be, and the first call takes it over", async () => {
    const probed = Promise.withResolvers<void>();
    const api = await fakeApi(({ path }) =>
      path === "/version" ? { body: {} } : status(404, "NotFound", { name: "x" }),
    );
    const cluster = await connected(api, probed.promise);
    expect(api.calls()).toEqual([]);
    probed.resolve();
    await vi.waitFor(() => expect(api.calls()).toEqual(["GET /version"]));
    await delay(20);
    await cluster.get({ group: "", kind: "ConfigMap", namespace: "sylva", name: "x" });
    expect(api.connections()).toBe(1);
  });

  it.each<readonly [string, Answer]>([
    ["is down", status(503, "ServiceUnavailable")],
    ["may not be asked", status(403, "Forbidden")],
    ["hangs up", "hang up"],
  ])("is no failure where the server %s", async (_, answer) => {
    const api = await fakeApi(({ path }) => (path === "/version" ? answer : status(404, "NotFound", { name: "x" })));
    const cluster = await connected(api, Promise.resolve());
    await vi.waitFor(() => expect(api.calls()).toContain("GET /version"));
    expect(await cluster.get({ group: "", kind: "ConfigMap", namespace: "sylva", name: "x" })).toBeUndefined();
  });
});

describe("where a kind is served", () => {
  const GROUP = "/apis/infrastructure.cluster.x-k8s.io";
  const machines: Resource = { ...templates, kind: "Metal3Machine", plural: "metal3machines" };
  /** The calls of a first and then a second read where these are served, up to the reads themselves. */
  const callsOfReads = async (resources: readonly Resource[], first: object, second: object) => {
    const api = await fakeApi(({ path }) => {
      if (path === "/apis") return discovery(...resources);
      return path === DEFINITIONS ? definitions() : { body: metal3MachineTemplate("t") };
    });
    const cluster = await clusterOn(api);
    await cluster.get({ ...key, ...first });
    await cluster.get({ ...key, ...second });
    return api.calls().map((call) => call.replace(/^GET /, "").replace(GROUP, ""));
  };
  const at = (version: string, { plural }: Resource) => `/${version}/namespaces/sylva/${plural}/t`;

  it.each<readonly [situation: string, readonly Resource[], first: object, second: object, readonly string[]]>([
    [
      "a kind -> once for any number of reads",
      [templates],
      {},
      {},
      ["", "/v1beta1", at("v1beta1", templates), at("v1beta1", templates)],
    ],
    [
      "another kind of the version that was read -> not again",
      [templates, machines],
      {},
      { kind: "Metal3Machine" },
      ["", "/v1beta1", at("v1beta1", templates), at("v1beta1", machines)],
    ],
    [
      "a kind that only an older version serves -> version by version, in the order of preference",
      [{ ...machines, version: "v1" }, templates, machines],
      {},
      { kind: "Metal3Machine" },
      ["", "/v1", "/v1beta1", at("v1beta1", templates), at("v1", machines)],
    ],
    [
      "a kind of a group without it -> all groups and definitions, before it is absent",
      [machines],
      {},
      { kind: "Metal3Machine" },
      ["", "/v1beta1", "/apis", DEFINITIONS, at("v1beta1", machines)],
    ],
    [
      "a kind that cannot be listed -> no other than an absent one",
      [{ ...templates, verbs: ["create"] }, machines],
      {},
      { kind: "Metal3Machine" },
      ["", "/v1beta1", "/apis", DEFINITIONS, at("v1beta1", machines)],
    ],
    [
      "a group that no server has, as an event may name one -> never a path made of it",
      [templates],
      { group: ".." },
      {},
      ["/apis", DEFINITIONS, at("v1beta1", templates)],
    ],
  ])("is asked for %s", async (_, resources, first, second, calls) => {
    const asked = await callsOfReads(resources, first, second);
    const inPairs = (paths: readonly string[]) => paths.map((path) => (path === "/apis" ? DEFINITIONS : path));
    // All groups and definitions are asked at one time.
    expect(inPairs(asked)).toEqual(inPairs(calls));
  });

  it.each<readonly [string, Answer, string]>([
    ["may not be read", status(403, "Forbidden"), "forbidden"],
    ["is answered by something else", { body: { kind: "List" } }, "unavailable"],
    ["is down", status(503, "ServiceUnavailable"), "unavailable"],
  ])("is not told by a group that %s", async (_, answer, failure) => {
    const api = await fakeApi(() => answer);
    await expect((await clusterOn(api)).get(key)).rejects.toMatchObject({ failure });
  });

  it("is asked again when a version goes", async () => {
    let version = "v1beta1";
    const api = await fakeApi(({ path }) => {
      if (path === "/apis") return discovery({ ...templates, version });
      return path.includes(`/${version}/`) ? { body: metal3MachineTemplate("t") } : pageNotFound;
    });
    const cluster = await clusterOn(api);
    await cluster.get(key);
    version = "v1beta2";
    expect(await cluster.get(key)).toBeDefined();
  });

  it.each<readonly [string, readonly string[], "absent" | "unavailable"]>([
    ["no definition", [], "absent"],
    ["definitions of others", ["metal3machines.infrastructure.cluster.x-k8s.io"], "absent"],
    [
      "a definition without a served version",
      ["metal3machinetemplates.infrastructure.cluster.x-k8s.io"],
      "unavailable",
    ],
  ])("nowhere, with %s -> %s", async (_, names, came) => {
    const api = await fakeApi(({ path }) => {
      if (path === "/apis") return discovery();
      return path === DEFINITIONS ? definitions(...names) : pageNotFound;
    });
    const cluster = await clusterOn(api);
    const outcomeOf = (promise: Promise<unknown>) => promise.catch((error) => error.failure);
    expect(await outcomeOf(cluster.get(key))).toEqual(came === "absent" ? undefined : came);
    expect(await outcomeOf(cluster.list(TEMPLATE))).toEqual(came === "absent" ? [] : came);
    expect(await outcomeOf(cluster.deleted(key, "7"))).toEqual(came === "absent" ? undefined : came);
    expect(await outcomeOf(cluster.create(metal3MachineTemplate("t")))).toEqual(came === "absent" ? "not-found" : came);
  });

  it("does not stay unknown", async () => {
    let isInstalled = false;
    const api = await fakeApi(({ path }) => {
      if (path === "/apis") return isInstalled ? discovery(templates) : discovery();
      return path === DEFINITIONS ? definitions() : { body: metal3MachineTemplate("t") };
    });
    const cluster = await clusterOn(api);
    expect(await cluster.get(key)).toBeUndefined();
    isInstalled = true;
    expect(await cluster.get(key)).toBeDefined();
  });

  it("is known without asking for ConfigMaps, and asked for other kinds of the core group", async () => {
    const api = await fakeApi(({ path }) =>
      path === "/api"
        ? discovery({ group: "", version: "v1", kind: "Node", plural: "nodes", scope: "Cluster" })
        : status(404, "NotFound", { name: "x" }),
    );
    const cluster = await clusterOn(api);
    await cluster.get({ group: "", kind: "ConfigMap", namespace: "sylva", name: "x" });
    await cluster.get({ group: "", kind: "Node", namespace: "sylva", name: "x" });
    await cluster.get({ group: "", kind: "ConfigMap", namespace: "", name: "x" });
    expect(api.calls()).toEqual(["GET /api/v1/namespaces/sylva/configmaps/x", "GET /api", "GET /api/v1/nodes/x"]);
  });
});

describe("a list", () => {
  const onTemplates = (answer: (asked: Asked, count: number) => Answer) => {
    let count = 0;
    return fakeApi((asked) => {
      if (asked.path === "/apis") return discovery(templates);
      count += 1;
      return answer(asked, count);
    });
  };

  it.each([
    ["of all namespaces", {}, "/metal3machinetemplates", { limit: "500" }],
    ["of one namespace", { namespace: "sylva" }, "/namespaces/sylva/metal3machinetemplates", { limit: "500" }],
    ["with a label", { label: "a/b" }, "/metal3machinetemplates", { limit: "500", labelSelector: "a/b" }],
    [
      "with values of labels",
      { label: "a=b,c=d" },
      "/metal3machinetemplates",
      { limit: "500", labelSelector: "a=b,c=d" },
    ],
  ])("%s asks for the present state", async (_, options, path, query) => {
    const api = await onTemplates(() => listOf([]));
    await (await clusterOn(api)).list(TEMPLATE, options);
    expect(api.asked[2]).toMatchObject({ path: `/apis/infrastructure.cluster.x-k8s.io/v1beta1${path}`, query });
    expect(Object.keys(api.asked[2]?.query ?? {})).not.toContain("resourceVersion");
  });

  it("says of each item what it is, with metadata alone too", async () => {
    const partial = { ...item("t"), apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
    const api = await onTemplates(({ headers }) =>
      listOf([headers.accept?.includes("PartialObjectMetadataList") ? partial : item("t")]),
    );
    const cluster = await clusterOn(api);
    const expected = [{ ...item("t"), apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1", kind: TEMPLATE.kind }];
    expect(await cluster.list(TEMPLATE)).toEqual(expected);
    expect(await cluster.list(TEMPLATE, { metadataOnly: true })).toEqual(expected);
  });

  it("goes on page by page to its end", async () => {
    const api = await onTemplates(({ query }) => {
      const page = Number(query.continue ?? 1);
      return listOf([item(`t${page}`)], page < 3 ? String(page + 1) : "");
    });
    const objects = await (await clusterOn(api)).list(TEMPLATE);
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(["t1", "t2", "t3"]);
  });

  it("begins anew when its pages expire in between", async () => {
    const api = await onTemplates(({ query }, count) => {
      if (count === 2) return status(410, "Expired");
      return query.continue === undefined ? listOf([item("t1")], "2") : listOf([item("t2")]);
    });
    const objects = await (await clusterOn(api)).list(TEMPLATE);
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(["t1", "t2"]);
  });

  it("gives up when its pages expire again and again", async () => {
    const api = await onTemplates(({ query }) =>
      query.continue === undefined ? listOf([item("t1")], "2") : status(410, "Expired"),
    );
    await expect((await clusterOn(api)).list(TEMPLATE)).rejects.toMatchObject({ failure: "unavailable" });
    expect(api.asked).toHaveLength(2 + 4 * 2);
  });

  it("is not cut short by a page that fails", async () => {
    const api = await onTemplates(({ query }) =>
      query.continue === undefined ? listOf([item("t1")], "2") : status(403, "Forbidden"),
    );
    await expect((await clusterOn(api)).list(TEMPLATE)).rejects.toMatchObject({ failure: "forbidden" });
  });
});
