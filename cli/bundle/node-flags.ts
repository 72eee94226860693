/**
 * How Node is started in the container. V8 lets garbage of many short lists stand until the heap has doubled, and keeps three
 * spaces of 16 MB for what is young: a sweep over 10,000 machines took 230 MiB, with these some 130, for a fourth more
 * CPU time. What must be held is small (docs/performance.md), so neither is a limit on it.
 *
 * V8 takes compiled code over only under the flags it was compiled with, so the compile cache is made with the same.
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=2", "--heap-growing-percent=30"];
