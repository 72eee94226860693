import { fileURLToPath } from "node:url";

/** The folder of sample objects that stands in for a cluster where none is named. */
export const SAMPLE_FOLDER = fileURLToPath(new URL("./sample", import.meta.url));

/** Sample objects of a control plane that is to adopt machines. */
export const ADOPTION_FOLDER = fileURLToPath(new URL("./sample-adoption", import.meta.url));

/** The environment with the sample as its snapshot, where it names no cluster at all. */
export function withSample(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const isNamed = environment.SNAPSHOT ?? environment.KUBECONFIG ?? environment.KUBERNETES_SERVICE_HOST;
  return isNamed === undefined ? { ...environment, SNAPSHOT: SAMPLE_FOLDER } : environment;
}
