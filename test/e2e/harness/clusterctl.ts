import { type Outcome, run } from "./command.ts";
import { binary } from "./paths.ts";
import { runFolder } from "./run-folder.ts";

/** Runs clusterctl with a home of its own, such as `["move", "--kubeconfig", a, "--to-kubeconfig", b, "-n", "sylva"]`. */
export function clusterctl(args: readonly string[]): Promise<Outcome> {
  const home = runFolder("clusterctl-home");
  // It would look for a newer version of itself on the internet.
  return run(binary("clusterctl"), args, { env: { XDG_CONFIG_HOME: home, CLUSTERCTL_DISABLE_VERSIONCHECK: "true" } });
}
