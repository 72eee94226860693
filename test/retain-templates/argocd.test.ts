import { describe, expect, test } from "vitest";
import { planTemplates } from "../../cli/plan/decisions.ts";
import { sentence } from "../../cli/plan/sentences.ts";
import { releasePatch } from "../../cli/release/decide.ts";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { ClusterError } from "../../shared/cluster/cluster.ts";
import { gatherFacts } from "../../shared/look/facts.ts";
import { DELETE_FOR_MOVE, HOLD, RETAIN, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";

const SYNC = "argocd.argoproj.io/sync-options";
const COMPARE = "argocd.argoproj.io/compare-options";
const MARK = "capi-caretaker.io/argocd-options";
const BOTH = { [SYNC]: "Prune=false", [COMPARE]: "IgnoreExtraneous" };
const OURS = { ...BOTH, [MARK]: JSON.stringify(BOTH) };

const mgmt = cluster();
const plain = ownedBy(metal3MachineTemplate("t"), mgmt);
const t = tracked(plain);
const machine = metal3Machine("m", { clonedFrom: t });

function tracked(one: KubeObject): KubeObject {
  const { group, kind, namespace, name } = keyOf(one);
  return annotated(one, { "argocd.argoproj.io/tracking-id": `capi:${group}/${kind}:${namespace}/${name}` });
}

/** The finalizers, and which annotations differ from those of a tracked template that nobody touched. */
function careOf({ metadata }: KubeObject): string {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => name in OURS);
  return [...(metadata.finalizers ?? []), ...annotations.map(([name, value]) => `${name.split("/")[1]}=${value}`)].join(
    " ",
  );
}

const KEPT = `sync-options=Prune=false compare-options=IgnoreExtraneous argocd-options=${JSON.stringify(BOTH)}`;

describe("a template that Argo CD tracks", () => {
  test.each<readonly [situation: string, template: KubeObject, outcome: string]>([
    ["is new -> options, no hold", t, KEPT],
    ["is held -> options instead of the hold", held(t), KEPT],
    ["is held by another finalizer too -> that one stays", finalizedBy(held(t), "metal3"), `metal3 ${KEPT}`],
    [
      "has its options from its source, and a hold -> the hold goes",
      annotated(held(t), BOTH),
      "sync-options=Prune=false compare-options=IgnoreExtraneous",
    ],
    ["was un-retired, held and with options -> the hold goes", annotated(held(t), OURS), KEPT],
    ["says Prune=confirm -> hold", annotated(t, { [SYNC]: "Prune=confirm" }), `${HOLD} sync-options=Prune=confirm`],
    [
      "says Prune=confirm and is held -> as it is",
      annotated(held(t), { [SYNC]: "Prune=confirm" }),
      `${HOLD} sync-options=Prune=confirm`,
    ],
    ["is retired -> hold", retired(t), HOLD],
    ["is retired with options -> hold besides", annotated(retired(t), OURS), `${HOLD} ${KEPT}`],
    ["is retired and held -> as it is", held(retired(t)), HOLD],
    ["is Terminating and held -> as it is", terminating(held(retired(t))), HOLD],
    ["is owned by the topology controller -> as it is", labelled(held(t), { [TOPOLOGY_OWNED]: "" }), HOLD],
    ["is deleted by clusterctl for a move -> as it is", annotated(held(t), { [DELETE_FOR_MOVE]: "" }), HOLD],
  ])("%s", async (_, template, outcome) => {
    const b = bench([template]);
    await b.send(retain, "update", template);
    expect(careOf(await b.live(t))).toBe(outcome);
    const before = b.changes.length;
    await b.send(retain, "update", await b.live(t));
    await b.sweep(retain);
    expect(b.changes.length).toBe(before);
  });

  test("a template whose id is a copy of another's -> hold", async () => {
    const copy = { ...t, metadata: { ...t.metadata, name: "copy" } };
    const b = bench([copy]);
    await b.send(retain, "add", copy);
    expect(careOf(await b.live(copy))).toBe(HOLD);
  });

  test("options are put on and the hold goes -> in one write", async () => {
    const b = bench([held(t)]);
    await b.send(retain, "update", held(t));
    expect(b.changes.length).toBe(1);
  });

  test("it is deleted while its hold is swapped -> held, Terminating and retired", async () => {
    let isFirst = true;
    const b = bench([mgmt, held(t), machine], {}, (inner) => ({
      ...inner,
      async patch(object, patch) {
        if (isFirst) {
          isFirst = false;
          await inner.delete(object);
          throw new ClusterError("conflict", "changed");
        }
        return inner.patch(object, patch);
      },
    }));
    await b.send(retain, "update", held(t));
    const live = await b.live(t);
    expect([careOf(live), isTerminating(live)]).toEqual([HOLD, true]);
  });

  test("the sweep meets a held one -> options instead of the hold", async () => {
    const b = bench([held(t)]);
    const { counts } = await b.sweep(retain);
    expect([careOf(await b.live(t)), counts.held]).toEqual([KEPT, 1]);
  });

  test("it is deleted without a hold while needed -> back, held and retired", async () => {
    const b = bench([mgmt, annotated(t, OURS), machine]);
    await b.cluster.delete(await b.live(t));
    await b.send(retain, "delete", annotated(t, OURS));
    expect(careOf(await b.live(t))).toBe(`${HOLD} ${KEPT}`);
  });

  test.each<readonly [situation: string, template: KubeObject, outcome: string]>([
    ["with options of ours -> they go", annotated(t, OURS), ""],
    [
      "with ours behind others -> the others stay",
      annotated(t, { ...OURS, [SYNC]: "A=b,Prune=false" }),
      "sync-options=A=b",
    ],
    [
      "with options of its source -> they stay",
      annotated(t, BOTH),
      "sync-options=Prune=false compare-options=IgnoreExtraneous",
    ],
    ["held and with options -> both go", annotated(held(t), OURS), ""],
  ])("a person opts it out %s", async (_, template, outcome) => {
    const optedOut = annotated(template, { [RETAIN]: "false" });
    const b = bench([mgmt, optedOut, machine]);
    await b.send(collect, "update", optedOut);
    await b.send(retain, "update", await b.live(t));
    expect(careOf(await b.live(t))).toBe(outcome);
    const before = b.changes.length;
    await b.send(collect, "update", await b.live(t));
    expect(b.changes.length).toBe(before);
  });

  test.each([
    ["is new", t, "argocd-tracked", "its annotations keep it from being pruned"],
    ["says Prune=true", annotated(t, { [SYNC]: "Prune=true" }), "prune-option-taken", "it gets a hold"],
  ] as const)("%s -> the plan says hold, and how", async (_, template, because, text) => {
    const { cluster: snapshot, context } = bench([template]);
    const terms = { ...context.settings, now: context.now() };
    const [planned, ...more] = planTemplates(await gatherFacts(snapshot), terms);
    expect([planned?.decision, more]).toMatchObject([{ verdict: "hold", because }, []]);
    expect(planned && sentence(planned)).toContain(text);
  });

  test("release -> options, record and hold go, what the owner wrote stays", async () => {
    const b = bench([annotated(retired(held(t)), { ...OURS, [SYNC]: "A=b,Prune=false" })]);
    const live = await b.live(t);
    await b.cluster.patch(live, { metadata: releasePatch(live) });
    const { annotations, finalizers, labels } = (await b.live(t)).metadata;
    expect(annotations).toEqual({ ...t.metadata.annotations, [SYNC]: "A=b" });
    expect([finalizers ?? [], labels ?? {}]).toEqual([[], {}]);
    expect(releasePatch(await b.live(t))).toBeUndefined();
  });
});

describe("retired by record, with options and no hold", () => {
  const extra = annotated(retired(t), OURS);

  test("unneeded after the grace period -> gone", async () => {
    const b = bench([mgmt, extra]);
    await b.sweep(collect);
    b.pass({ minutes: 11 });
    await b.sweep(collect);
    expect(await b.has(t)).toBe(false);
  });

  test("a referrer comes between the look and the deletion -> it stays, Terminating and held", async () => {
    const b = bench([mgmt, extra], { COLLECT_GRACE: "PT0S" }, (inner) => ({
      ...inner,
      async delete(object) {
        await inner.create(machine);
        return inner.delete(object);
      },
    }));
    await b.sweep(collect);
    const live = await b.live(t);
    expect([live.metadata.finalizers, isTerminating(live)]).toEqual([[HOLD], true]);
  });
});
