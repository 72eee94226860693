import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  cacheDir: ".build/vite",
  test: {
    include: ["**/*.e2e.ts"],
    exclude: [".build/**", ".runs/**"],
    setupFiles: ["harness/setup.ts"],
    pool: "forks",
    // A control plane with Cluster API's managers keeps two cores busy; two files at once only make each other's waits longer.
    fileParallelism: false,
    retry: 0,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    reporters: ["verbose"],
  },
});
