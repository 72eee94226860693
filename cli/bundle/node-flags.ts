/**
 * How Node is started in the container. For what is young V8 keeps three spaces of up to 16 MB, which a function that
 * lets go of each page as it comes does not need: a sweep over 10,000 machines takes some 60 MB less with this.
 *
 * V8 takes compiled code over only under the flags it was compiled with, so the compile cache is made with the same.
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=2"];
