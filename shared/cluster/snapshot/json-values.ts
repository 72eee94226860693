const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The values of a JSON text, or how many could be read before one that is broken, and why. */
export type JsonValues =
  | { readonly values: readonly unknown[] }
  | { readonly readable: number; readonly cause: unknown };

/** Reads JSON: one value, or objects one after another with nothing but blanks between them, as in JSON lines. */
export function jsonValues(text: string): JsonValues {
  const values: unknown[] = [];
  try {
    return { values: [JSON.parse(text)] };
  } catch {
    try {
      for (const piece of piecesOf(text)) values.push(JSON.parse(piece));
      return { values };
    } catch (cause) {
      return { readable: values.length, cause };
    }
  }
}

// Each piece ends where the brackets it opened are closed; what is left at the end is one too, unless it is blank.
function* piecesOf(text: string): Generator<string> {
  let [start, depth] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      if (depth !== 0) continue;
      yield text.slice(start, at + 1);
      start = at + 1;
    }
  }
  const rest = text.slice(start);
  if (start === 0 || rest.trim() !== "") yield rest;
}

/** Where the string that opens at `start` closes; the end of the text where it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
