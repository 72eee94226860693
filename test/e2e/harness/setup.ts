import { basename } from "node:path";
import { afterAll, expect } from "vitest";
import { assertAllowancesUsed } from "./refusals.ts";
import { tearDown } from "./teardown.ts";

process.env.E2E_TEST_FILE = basename(expect.getState().testPath ?? "", ".e2e.ts");

afterAll(assertAllowancesUsed);
// Vitest runs such hooks in reverse order, and so this one after those of the test file.
afterAll(tearDown, 60_000);
