import type { Act } from "../../shared/acts/context.ts";
import type { Answer } from "./source.ts";

/** Prints the story and judges its outcomes. */
export interface Narrator {
  title(text: string): void;
  step(text: string): void;
  /** Remembers what a function did, to be told with the next line. */
  hear(answer: Answer): void;
  /** Prints an outcome, and whether it is as it must be. */
  expect<Value extends string | number | boolean>(what: string, actual: Value, wanted: Value): void;
  /** How many outcomes were wrong. */
  wrong(): number;
  table(rows: readonly (readonly [string, string | number])[]): void;
}

export function createNarrator(write: (line: string) => void): Narrator {
  const heard: { readonly who: string; readonly act: Act }[] = [];
  let steps = 0;
  let wrong = 0;
  const tellHeard = () => {
    const groups = Map.groupBy(heard.splice(0), ({ who, act }) => `${who} ${act.done}|${act.because}`);
    for (const [group, acts] of groups) {
      const [what = "", because = ""] = group.split("|");
      const names = acts.map(({ act }) => `${act.object.kind} ${act.object.name}`);
      const first = names.slice(0, 2).join(", ");
      const rest = names.length > 2 ? ` and ${names.length - 2} more` : "";
      write(`      ${what} ${first}${rest} (${because})`);
    }
  };
  return {
    title(text) {
      tellHeard();
      steps = 0;
      write(`\n${text}`);
    },
    step(text) {
      tellHeard();
      steps += 1;
      write(`  ${steps}. ${text}`);
    },
    hear({ reply }) {
      const { acts = [] } = (reply?.data ?? {}) as { readonly acts?: readonly Act[] };
      const who = (reply?.source ?? "").replace("/capi-caretaker/", "");
      heard.push(...acts.map((act) => ({ who, act })));
    },
    expect(what, actual, wanted) {
      tellHeard();
      const isRight = actual === wanted;
      if (!isRight) wrong += 1;
      write(`    ${isRight ? "ok" : "WRONG"}  ${what}: ${actual}${isRight ? "" : ` instead of ${wanted}`}`);
    },
    wrong: () => wrong,
    table(rows) {
      tellHeard();
      const width = Math.max(...rows.map(([what]) => what.length));
      for (const [what, value] of rows) write(`  ${what.padEnd(width)}  ${value}`);
    },
  };
}
