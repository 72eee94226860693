import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { HOST } from "../../functions/rewrite-urls/hosts.ts";
import { handle, prepare } from "../../functions/rewrite-urls/index.ts";
import { REWRITE_RECORD, REWRITTEN_FROM } from "../../functions/rewrite-urls/record.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { annotation, DELETE_FOR_MOVE, RETAIN, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  clusterClass,
  inNamespace,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  ownedBy,
} from "../build/objects.ts";
import { applied, managed, ownersAt } from "./managed.ts";
import { bareMetalHost, IMAGE_URL, image, NEW, OLD, RULES, rulesOf, under, withSpec } from "./world.ts";

const FILE = `${OLD}/os.qcow2`;
const MOVED = `${NEW}/os.qcow2`;
const rewriteUrls = under(RULES);
const template = withSpec(metal3MachineTemplate("t"), image({ url: FILE, checksum: `${FILE}.sha256` }));
const byHelm: KubeObject = {
  ...template,
  metadata: {
    ...template.metadata,
    managedFields: [applied("helm", template, IMAGE_URL, "spec.template.spec.nodeReuse")],
  },
};

async function urlOf(world: Bench, of: KubeObject): Promise<string | undefined> {
  const live = await world.live(of);
  return stringAt(live, IMAGE_URL) ?? stringAt(live, "spec.image.url");
}

function reasons(world: Bench): readonly string[] {
  return world.cluster.events().map(({ reason }) => reason);
}

describe("a template", () => {
  test.each(["add", "update"] as const)("%s -> rewritten, with the first URLs noted and told", async (action) => {
    const world = bench([template]);
    const { acts } = await world.send(rewriteUrls, action, template);
    const live = await world.live(template);
    expect(stringAt(live, IMAGE_URL)).toBe(MOVED);
    expect(stringAt(live, "spec.template.spec.image.checksum")).toBe(`${MOVED}.sha256`);
    expect(JSON.parse(annotation(live, REWRITTEN_FROM) ?? "")).toEqual({
      [IMAGE_URL]: FILE,
      "spec.template.spec.image.checksum": `${FILE}.sha256`,
    });
    expect(acts).toMatchObject([{ noun: "template", done: "rewritten", object: { name: "t" } }]);
    expect(world.cluster.events()).toMatchObject([{ type: "Normal", reason: "UrlsRewritten" }]);
  });

  test("the same event twice -> written once", async () => {
    const world = bench([template]);
    await world.send(rewriteUrls, "add", template);
    const writes = world.changes.length;
    expect(await world.send(rewriteUrls, "add", template)).toMatchObject({ acts: [] });
    expect(world.changes).toHaveLength(writes);
  });

  test("an event that lags behind -> the live object decides", async () => {
    const world = bench([annotated(template, { [RETAIN]: "false" })]);
    await world.send(rewriteUrls, "update", template);
    expect(await urlOf(world, template)).toBe(FILE);
  });

  test("deleted since -> nothing", async () => {
    expect(await bench([]).send(rewriteUrls, "update", template)).toMatchObject({ acts: [] });
  });

  test("ordinary events -> no read at all", async () => {
    const never = new Proxy({} as Cluster, {
      get: () => () => {
        throw new Error("read");
      },
    });
    const world = bench([], {}, () => never);
    for (const one of [
      metal3MachineTemplate("other"),
      metal3Machine("m"),
      kubeadmControlPlane("cp"),
      bareMetalHost("h"),
    ]) {
      expect(await world.send(rewriteUrls, "update", one)).toMatchObject({ acts: [] });
    }
    expect(await world.send(rewriteUrls, "delete", template)).toMatchObject({ acts: [] });
    expect(await rewriteUrls(world.context, { type: "own-reply" })).toMatchObject({ acts: [] });
  });

  test("the server refuses the new URL -> refused with its message, no retry asked for", async () => {
    const refusing = (inner: Cluster): Cluster => ({
      ...inner,
      patch: async () => {
        throw new ClusterError("invalid", `spec.template.spec.image.url: Invalid value: "http://u:secret@h/"`);
      },
    });
    const world = bench([template], {}, refusing);
    await world.send(rewriteUrls, "update", template);
    expect(world.cluster.events()).toMatchObject([{ type: "Warning", reason: "RewriteRefused" }]);
    expect(world.cluster.events()[0]?.note).toMatch(/Invalid value: "http:\/\/\*\*\*@h\/"/);
  });

  test("a conflict -> read and decided again", async () => {
    let isFirst = true;
    const meddling = (inner: Cluster): Cluster => ({
      ...inner,
      async patch(object, patch) {
        if (isFirst) {
          isFirst = false;
          await inner.patch(object, { metadata: { labels: { other: "writer" } } });
        }
        return inner.patch(object, patch);
      },
    });
    const world = bench([template], {}, meddling);
    await world.send(rewriteUrls, "update", template);
    expect(await urlOf(world, template)).toBe(MOVED);
    expect((await world.live(template)).metadata.labels).toMatchObject({ other: "writer" });
  });

  test("the server is away -> thrown, to be sent again", async () => {
    const away = (inner: Cluster): Cluster => ({
      ...inner,
      patch: async () => {
        throw new ClusterError("unavailable", "timeout");
      },
    });
    await expect(bench([template], {}, away).send(rewriteUrls, "update", template)).rejects.toThrow(/failed/);
  });
});

describe("who owns the field afterwards", () => {
  test("helm owned it -> helm again, and we only our marks", async () => {
    const world = bench([byHelm], {}, managed);
    await world.send(rewriteUrls, "update", byHelm);
    const live = await world.live(byHelm);
    expect(stringAt(live, IMAGE_URL)).toBe(MOVED);
    expect(ownersAt(live, IMAGE_URL)).toEqual(["helm"]);
    expect(ownersAt(live, "spec.template.spec.nodeReuse")).toEqual(["helm"]);
    expect(ownersAt(live, "spec.template.spec.image.checksum")).toEqual([]);
    expect(
      live.metadata.managedFields?.find(({ manager }) => manager === "capi-caretaker")?.fieldsV1,
    ).not.toHaveProperty("f:spec");
  });

  test.each(["event", "sweep"])("a crash before it was given back -> the next %s does it", async (next) => {
    let left = 1;
    const crashing = (inner: Cluster): Cluster => {
      const cluster = managed(inner);
      return {
        ...cluster,
        async patch(object, patch) {
          left -= 1;
          if (left === -1) throw new Error("crash");
          return cluster.patch(object, patch);
        },
      };
    };
    const world = bench([byHelm], {}, crashing);
    await expect(world.send(rewriteUrls, "update", byHelm)).rejects.toThrow();
    const halfway = await world.live(byHelm);
    expect(ownersAt(halfway, IMAGE_URL)).toEqual(["capi-caretaker"]);
    if (next === "event") await world.send(rewriteUrls, "update", halfway);
    else await world.sweep(rewriteUrls);
    const live = await world.live(byHelm);
    expect(ownersAt(live, IMAGE_URL)).toEqual(["helm"]);
    expect(JSON.parse(annotation(live, REWRITE_RECORD) ?? "")).not.toHaveProperty("owners");
    expect(stringAt(live, IMAGE_URL)).toBe(MOVED);
  });
});

describe("a sweep", () => {
  const owned = labelled(template, { [TOPOLOGY_OWNED]: "" });
  const named = (one: KubeObject, name: string): KubeObject => ({
    ...one,
    metadata: { ...one.metadata, name, uid: name },
  });
  const inClass = named(template, "in-class");
  const script = withSpec(kubeadmConfigTemplate("script"), {
    template: { spec: { preKubeadmCommands: [`curl ${FILE}`] } },
  });
  const claimed = annotated(withSpec(metal3Machine("claimed"), { image: { url: FILE } }), { [HOST]: "sylva/h" });
  const free = withSpec(metal3Machine("free"), { image: { url: FILE } });
  const host = bareMetalHost("h", { spec: { image: { url: FILE } } });
  const inline = withSpec(kubeadmControlPlane("cp"), { kubeadmConfigSpec: { files: [{ content: FILE }] } });
  const moved = named(annotated(template, { [DELETE_FOR_MOVE]: "" }), "moving");

  test("everything at once -> only what may change does, each refusal is told, hosts stay byte-identical", async () => {
    const objects = [
      template,
      named(owned, "owned"),
      inClass,
      clusterClass("c", { uses: inClass }),
      script,
      claimed,
      free,
      host,
      inline,
      moved,
    ];
    const world = bench(objects);
    const before = new Map(
      await Promise.all(objects.map(async (one) => [one.metadata.name, await world.live(one)] as const)),
    );
    const { acts, counts } = await world.sweep(rewriteUrls);
    for (const one of objects) {
      const isChanged = [template, free].includes(one);
      if (isChanged) expect(await urlOf(world, one)).toBe(MOVED);
      else expect(await world.live(one)).toEqual(before.get(one.metadata.name));
    }
    expect(acts.map(({ noun, object }) => `${noun} ${object.name}`)).toEqual(["template t", "machine free"]);
    expect(counts).toMatchObject({ rewrite: 2, refuse: 3, rewritten: 2 });
    expect(reasons(world).filter((reason) => reason === "RewriteRefused")).toHaveLength(4);
  });

  test("a second sweep -> nothing to do", async () => {
    const world = bench([template, free]);
    await world.sweep(rewriteUrls);
    const writes = world.changes.length;
    expect((await world.sweep(rewriteUrls)).acts).toEqual([]);
    expect(world.changes).toHaveLength(writes);
  });

  test("one object fails -> the others are done, and the failure is thrown", async () => {
    const failing = (inner: Cluster): Cluster => ({
      ...inner,
      async patch(object, patch) {
        if (object.metadata.name === "t") throw new ClusterError("unavailable", "timeout");
        return inner.patch(object, patch);
      },
    });
    const world = bench([template, free], {}, failing);
    await expect(world.sweep(rewriteUrls)).rejects.toThrow(AggregateError);
    expect(await urlOf(world, free)).toBe(MOVED);
  });
});

describe("the pivot", () => {
  const one = ownedBy(template, cluster());

  test("a paused Cluster -> waits; unpaused after the move -> rewritten, in its namespace", async () => {
    const elsewhere = inNamespace(ownedBy(template, cluster()), "other");
    const paused = cluster("mgmt", { paused: true });
    const world = bench([one, paused, elsewhere, inNamespace(paused, "other")]);
    await world.send(rewriteUrls, "add", one);
    await world.send(rewriteUrls, "update", paused);
    expect(await urlOf(world, one)).toBe(FILE);
    const unpaused = await world.cluster.patch(await world.live(paused), { spec: { paused: null } });
    await world.send(rewriteUrls, "update", unpaused ?? paused);
    expect(await urlOf(world, one)).toBe(MOVED);
    expect(await urlOf(world, elsewhere)).toBe(FILE);
  });

  test.each([
    ["a machine is born without a host", "add", MOVED],
    ["such a machine changes, which is for the sweep", "update", FILE],
  ] as const)("%s (%s) -> %s", async (_situation, action, outcome) => {
    const free = withSpec(metal3Machine("m"), { image: { url: FILE } });
    const world = bench([free]);
    await world.send(rewriteUrls, action, free);
    expect(await urlOf(world, free)).toBe(outcome);
  });
});

describe("asking the new URL", () => {
  async function withServer(status: number, run: (base: string) => Promise<void>): Promise<void> {
    const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const from = "http://127.0.0.1:1/";
  const old = withSpec(metal3MachineTemplate("t"), image({ url: `${from}os` }));

  test.each([
    ["it is there", "head", 200, true, "UrlsRewritten"],
    ["it is not there", "head", 404, false, "RewriteRefused"],
    ["it is not there", "warn", 404, false, "RewriteRefused"],
    ["it is not there", "none", 404, true, "UrlsRewritten"],
  ] as const)("%s, %s -> as the rule says", async (_situation, check, status, isWritten, reason) => {
    await withServer(status, async (base) => {
      const world = bench([old]);
      await world.send(under(rulesOf({ check }, from, `${base}/`)), "update", old);
      expect(await urlOf(world, old)).toBe(isWritten ? `${base}/os` : `${from}os`);
      expect(reasons(world)).toEqual([reason]);
    });
  });

  test("nothing answers, warn -> written, and people are told", async () => {
    const world = bench([old]);
    await world.send(under(rulesOf({ check: "warn" }, from, "http://127.0.0.1:2/")), "update", old);
    expect(await urlOf(world, old)).toBe("http://127.0.0.1:2/os");
    expect(world.cluster.events()).toMatchObject([{ type: "Warning", reason: "UrlsRewritten" }]);
    expect(world.cluster.events()[0]?.note).toMatch(/Written unasked.*could not be asked/);
  });

  test("a password in the URL -> kept within its host, in no Event and no reply", async () => {
    const secret = withSpec(metal3MachineTemplate("t"), image({ url: "http://u:secret@h/old/os" }));
    const world = bench([secret]);
    const { acts } = await world.send(under(rulesOf({}, "http://h/old/", "https://h/new/")), "update", secret);
    expect(await urlOf(world, secret)).toBe("https://u:secret@h/new/os");
    expect(JSON.stringify([acts, world.cluster.events().map(({ note }) => note)])).not.toContain("secret");
  });
});

describe("the start", () => {
  test("no rules -> refused by name", async () => {
    const { context } = bench([]);
    await expect(prepare(context.settings, context.log)).rejects.toThrow(/REWRITE_RULES/);
    await expect(handle(context, { type: "sweep" })).rejects.toThrow(/REWRITE_RULES/);
  });
});
