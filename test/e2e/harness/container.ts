import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { UnpackedImage } from "./image.ts";

/** What a container runtime does with an image's files, without one: its own mounts, a root that cannot be written, no rights. */
const ENTER = `
set -e
root=$1 data=$2; shift 2
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs "$@"
`;

/**
 * The command that runs an unpacked image as its config says, with `data` mounted at /data and nothing else to write to.
 * Changing to a user that is not root leaves it without rights. Throws where this process may not do all that.
 */
export function containerCommand(
  { root, start }: UnpackedImage,
  { data, env = {}, args }: { data: string; env?: Record<string, string>; args: readonly string[] },
): string[] {
  requireRoot();
  for (const mountPoint of ["data", "dev", "proc"]) mkdirSync(join(root, mountPoint), { recursive: true });
  const variables = [...start.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const chroot = ["/usr/sbin/chroot", "/usr/bin/chroot"].find(existsSync) ?? "chroot";
  const inside = [chroot, `--userspec=${start.User}`, "--groups=", root, ...start.Entrypoint, ...args];
  // PATH is the image's own only once chroot itself was found.
  return [
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    ENTER,
    "sh",
    root,
    data,
    "env",
    "-i",
    ...variables,
    ...inside,
  ];
}

function requireRoot(): void {
  const [, , count] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/);
  if (process.getuid?.() === 0 && Number(count) > 65535) return;
  throw new Error(
    "starting the image as its user with a root that cannot be written takes root; run the suite as root",
  );
}
