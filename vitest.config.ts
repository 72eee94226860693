import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/e2e/**"],
    // No test leaves a trace in a module, so the modules are loaded once and not for each file.
    pool: "threads",
    isolate: false,
    // The time limit only ends what hangs: a loaded machine is no failure.
    testTimeout: 60_000,
  },
});
