import { dirname, join } from "node:path/posix";

export interface Import {
  /** A path from the root of the project, or a package's specifier as it stands. */
  readonly from: string;
  readonly isTypeOnly: boolean;
  /** `export … from`: hands on what another file makes. */
  readonly isReexport: boolean;
}

/** What an `import()` of anything but a plain string names: nobody can tell. */
export const COMPUTED = "<computed>";

// Statements start a line; the part between keyword and `from` holds names, braces, commas and `* as`, never a quote.
const STATIC = /^(import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*(?:["']([^"']+)["']\s*\))?/g;

/** Every import of a file, static and dynamic. `file` is its path from the root of the project. */
export function importsOf(file: string, text: string): readonly Import[] {
  const resolve = (from: string) => (from.startsWith(".") ? join(dirname(file), from) : from);
  const code = withoutComments(text);
  const statics = [...code.matchAll(STATIC)].map(([, keyword, type, from = ""]) => {
    return { from: resolve(from), isTypeOnly: type !== undefined, isReexport: keyword === "export" };
  });
  const dynamics = [...code.matchAll(DYNAMIC)].map(([, from]) => {
    return { from: from === undefined ? COMPUTED : resolve(from), isTypeOnly: false, isReexport: false };
  });
  return [...statics, ...dynamics];
}

/** Comment lines taken out; enough for code that a formatter keeps, and it never takes out code. */
export function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
}
