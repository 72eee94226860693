type Step = () => Promise<void> | void;

const steps = new Map<string, Step>();

/** Has a step done at teardown, after those that were added later. Returns a function that takes it back. */
export function onTeardown(name: string, step: Step): () => void {
  const key = `${steps.size} ${name} ${crypto.randomUUID()}`;
  steps.set(key, step);
  return () => steps.delete(key);
}

/** Undoes everything that was started, the latest first. Goes on when a step fails, and throws all failures at the end. */
export async function tearDown(): Promise<void> {
  const failures: unknown[] = [];
  for (const [key, step] of [...steps].toReversed()) {
    steps.delete(key);
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "teardown failed");
}
