import { expect, test } from "vitest";
import type { Said } from "../../functions/collect-templates/by-record.ts";
import { decide } from "../../functions/collect-templates/decide.ts";
import { factsFrom } from "../../shared/look/facts.ts";
import { RETAIN, RETIRED_BY, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  held,
  labelled,
  machineDeployment,
  machineSet,
  metal3Machine,
  metal3MachineTemplate,
  NOON,
  namespace,
  noon,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";

const mgmt = cluster();
const t = ownedBy(metal3MachineTemplate("t"), mgmt);
const asked = held(retired(t, noon(-30)));
const byRecord = annotated(asked, { [RETIRED_BY]: "helm" });
const machine = metal3Machine("m", { clonedFrom: t });
const deployment = machineDeployment("md", { uses: t });

const listed: Said = { tool: "helm", lists: true, reason: "listed" };
const dropped: Said = { tool: "helm", lists: false, reason: "not-listed" };
const pending: Said = { tool: "helm", lists: "unknown", reason: "pending-upgrade" };
const noRecord: Said = { tool: "helm", lists: "unknown", reason: "no-record" };

test.each<[situation: string, outcome: string, template: KubeObject, said: Said | undefined, others?: KubeObject[]]>([
  ["live, its owner not asked", "leave not-retired", held(t), undefined],
  ["live, listed", "leave not-retired", held(t), listed],
  ["live, its owner unsettled", "leave not-retired", held(t), pending],
  ["live, its owner's record gone (uninstalled)", "leave not-retired", held(t), noRecord],
  ["live, no longer listed, unused", "retire not-listed", held(t), dropped],
  ["live, no longer listed, a machine still needs it", "retire not-listed", held(t), dropped, [machine]],
  ["live, no longer listed, a MachineDeployment asks for it", "leave not-retired", held(t), dropped, [deployment]],
  ["live, no longer listed, without a hold", "leave not-retired", t, dropped],
  ["no longer listed, opted out", "release opted-out", annotated(held(t), { [RETAIN]: "false" }), dropped],
  ["no longer listed, a topology's", "leave off-limits", labelled(held(t), { [TOPOLOGY_OWNED]: "" }), dropped],
  ["Terminating, no longer listed", "collect unneeded", held(terminating(t, noon(-30))), dropped],
  ["Terminating, listed again", "collect unneeded", held(terminating(t, noon(-30))), listed],

  ["retired by record, still not listed", "wait grace-period", byRecord, dropped],
  ["retired by record, needed", "keep needed", byRecord, dropped, [machine]],
  ["retired by record, needed, its owner unsettled", "keep needed", byRecord, pending, [machine]],
  ["retired by record, listed again", "unretire listed", byRecord, listed],
  ["retired by record, listed again, needed", "unretire listed", byRecord, listed, [machineSet("ms", { uses: t })]],
  ["retired by record, its owner unsettled", "wait owner-unknown", byRecord, pending],
  ["retired by record, the record gone", "wait owner-unknown", byRecord, noRecord],
  ["retired by record, the tool no longer named", "wait owner-unknown", byRecord, undefined],
  ["retired by record, wanted", "renew wanted", byRecord, dropped, [deployment]],

  ["its deletion was asked for, not listed", "wait grace-period", asked, dropped],
  ["its deletion was asked for, listed again", "unretire listed", asked, listed],
  ["its deletion was asked for, its owner unsettled", "wait owner-unknown", asked, pending],
  ["its deletion was asked for, the record gone too", "wait grace-period", asked, noRecord],
  ["its deletion was asked for, its owner not asked", "wait grace-period", asked, undefined],
])("%s -> %s", (_, outcome, template, said, others = []) => {
  const terms = {
    now: NOON,
    collectGrace: Temporal.Duration.from({ minutes: 10 }),
    renewAfter: Temporal.Duration.from({ minutes: 2 }),
  };
  const facts = factsFrom([mgmt, template, ...others], [namespace()], []);
  const { verdict, because } = decide(template, facts, terms, said);
  expect(`${verdict} ${because}`).toBe(outcome);
});
