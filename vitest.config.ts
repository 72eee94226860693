import { defineConfig } from "vitest/config";

// The time limit only ends what hangs: a loaded machine is no failure.
export default defineConfig({
  test: { include: ["test/**/*.test.ts"], exclude: ["test/e2e/**"], testTimeout: 60_000 },
});
