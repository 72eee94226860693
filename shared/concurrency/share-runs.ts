/**
 * Lets calls that arrive together share one run: at most one runs and one waits, and what waits takes in every call until
 * it begins. So no run answers a call that came after it began, and a burst of calls costs two runs.
 *
 * @param run does the work for all that waited; what it throws, each of them gets
 */
export function shareRuns<Item, Result>(
  run: (items: readonly [Item, ...Item[]]) => Promise<Result>,
): (item: Item) => Promise<Result> {
  let underWay: Promise<unknown> = Promise.resolve();
  let waiting: { readonly items: [Item, ...Item[]]; readonly result: Promise<Result> } | undefined;
  return (item) => {
    if (waiting !== undefined) {
      waiting.items.push(item);
      return waiting.result;
    }
    const items: [Item, ...Item[]] = [item];
    const result = underWay.then(() => {
      waiting = undefined;
      return run(items);
    });
    waiting = { items, result };
    underWay = result.catch(() => undefined);
    return result;
  };
}

/** The same, for each id by itself; an id is forgotten once nothing runs or waits for it. */
export function shareRunsById<Item, Result>(
  run: (id: string, items: readonly [Item, ...Item[]]) => Promise<Result>,
): (id: string, item: Item) => Promise<Result> {
  const byId = new Map<string, { readonly join: (item: Item) => Promise<Result>; users: number }>();
  return async (id, item) => {
    const shared = byId.get(id) ?? { join: shareRuns<Item, Result>((items) => run(id, items)), users: 0 };
    byId.set(id, shared);
    shared.users += 1;
    try {
      return await shared.join(item);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) byId.delete(id);
    }
  };
}
