import type { KubeObject } from "../../../shared/objects/object.ts";
import { isInitConfig } from "../forecast/compare-config.ts";
import { ensureAt, type Fields, recordAt, removeAt } from "../forecast/fields.ts";
import { kubeadmSpecOf } from "../forecast/kubeadm-spec.ts";
import { pruned } from "../forecast/prune.ts";

/** What an init and a join part say alike. */
const SHARED = ["nodeRegistration", "patches", "skipPhases", "timeouts"];

/**
 * The kubeadmConfigSpec of a control plane that would make these configs again: each part from the first config that
 * has it. Where configs differ from one another the forecast shows it; nothing is averaged or guessed here. Undefined
 * without a clusterConfiguration.
 *
 * @param given the clusterConfiguration to take where no config carries one
 */
export function draftConfigSpec(configs: readonly KubeObject[], given: Fields | undefined): Fields | undefined {
  const specs = configs.map((config) => ({ isInit: isInitConfig(config), spec: pruned(kubeadmSpecOf(config)) }));
  const carried = specs.map(({ spec }) => recordAt(spec, "clusterConfiguration")).find((one) => one !== undefined);
  const clusterConfiguration = carried ?? given;
  const join = specs.find(({ isInit }) => !isInit)?.spec;
  const init = specs.find(({ isInit }) => isInit)?.spec;
  const sample = join ?? init;
  if (clusterConfiguration === undefined || sample === undefined) return undefined;
  const { clusterConfiguration: _, initConfiguration: __, joinConfiguration: ___, ...rest } = sample;
  const draft: Fields = structuredClone({
    ...rest,
    clusterConfiguration,
    initConfiguration: recordAt(init ?? {}, "initConfiguration") ?? initFrom(join ?? {}),
    joinConfiguration: recordAt(join ?? {}, "joinConfiguration") ?? joinFrom(init ?? {}),
  });
  // Set from the Cluster, and from a token that is fresh at each join.
  removeAt(draft, "clusterConfiguration.controlPlaneEndpoint");
  removeAt(draft, "joinConfiguration.discovery");
  ensureAt(draft, "joinConfiguration.controlPlane");
  return pruned(draft);
}

function initFrom(join: Fields): Fields {
  const part = recordAt(join, "joinConfiguration") ?? {};
  const localAPIEndpoint = recordAt(part, "controlPlane.localAPIEndpoint");
  return { ...shared(part), ...(localAPIEndpoint && { localAPIEndpoint }) };
}

function joinFrom(init: Fields): Fields {
  const part = recordAt(init, "initConfiguration") ?? {};
  const localAPIEndpoint = recordAt(part, "localAPIEndpoint");
  return { ...shared(part), ...(localAPIEndpoint && { controlPlane: { localAPIEndpoint } }) };
}

function shared(part: Fields): Fields {
  return Object.fromEntries(SHARED.filter((field) => field in part).map((field) => [field, part[field]]));
}
