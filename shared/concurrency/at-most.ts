/**
 * Runs `act` on each item, no more than `limit` at once, and returns the results in the order of the items.
 *
 * Rejects with the first failure; what is under way then goes on, what has not begun does not begin.
 */
export async function atMost<Item, Result>(
  limit: number,
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = new Array(items.length);
  const left = items.entries();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const [index, item] of left) {
      if (hasFailed) return;
      try {
        results[index] = await act(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, work));
  return results;
}
