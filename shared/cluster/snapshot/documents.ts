import { Composer, LineCounter, Parser } from "yaml";
import { InputError } from "../../setup/input-error.ts";
import { jsonValues } from "./json-values.ts";

/** Where in a folder something stands. */
export interface Place {
  readonly file: string;
  /** Counted from 1 within the file. */
  readonly document: number;
}

export interface Document {
  readonly value: unknown;
  readonly place: Place;
}

/**
 * The documents of a file, one at a time: JSON where it is JSON, else YAML.
 *
 * Throws an InputError that names the place and the reason when it comes to a document that is neither.
 */
export function* documentsIn(text: string, file: string): Generator<Document> {
  if (!/\.json$/i.test(file)) return yield* yamlIn(text, file);
  const json = jsonValues(text);
  if ("values" in json) {
    for (const [index, value] of json.values.entries()) yield { value, place: { file, document: index + 1 } };
    return;
  }
  // Comments, or `---` between values, make YAML of it. Two values with nothing between them can be JSON only.
  if (json.readable < 2) return yield* yamlIn(text, file);
  throw at({ file, document: json.readable + 1 }, reasonOf(json.cause), json.cause);
}

/** An InputError about a place. */
export function at(place: Place, reason: string, cause?: unknown): InputError {
  return new InputError(`${where(place)}: ${reason}`, { cause });
}

export function where({ file, document }: Place): string {
  return `${file}, document ${document}`;
}

/** What went wrong, in one line. */
export function reasonOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}

export function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? text).replace(/:$/, "");
}

// The tree that a document is read from is many times its text, so there is never more than one of them.
function* yamlIn(text: string, file: string): Generator<Document> {
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  let number = 0;
  for (const document of new Composer({ logLevel: "error" }).compose(parser.parse(text))) {
    number += 1;
    const place = { file, document: number };
    const [problem] = document.errors;
    if (problem !== undefined) throw at(place, firstLine(`${problem.message}${placeIn(lines, problem.pos[0])}`));
    yield { value: plain(document, place), place };
  }
}

// As the parser says it itself where it reads a whole text at once.
function placeIn(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return offset === -1 ? "" : ` at line ${line}, column ${col}`;
}

function plain(document: { toJS(options: { maxAliasCount: number }): unknown }, place: Place): unknown {
  try {
    const value = document.toJS({ maxAliasCount: 1000 });
    // An anchor can contain itself, and nothing after this could walk such a value to its end.
    JSON.stringify(value);
    return value;
  } catch (error) {
    throw at(place, reasonOf(error), error);
  }
}
