/** The numbers of a Kubernetes version; whatever follows the patch number takes no part in any rule here. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Reads `v1.33.1`, with or without the `v`, patch, pre-release or build (semver.ParseTolerant). */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch = "0"] = /^\s*v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+][0-9A-Za-z.+-]+)?\s*$/.exec(text) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Whether a KubeadmControlPlane of version `a` adopts a Machine of version `b`: at most one minor apart (util/util.go). */
export function isWithinSkew(a: Version, b: Version): boolean {
  return a.major === b.major && Math.abs(a.minor - b.minor) <= 1;
}

/** Whether `version` is `major.minor.0` or later, pre-releases counted as the release. */
export function isAtLeast(version: Version, major: number, minor: number): boolean {
  return version.major > major || (version.major === major && version.minor >= minor);
}
