/** A value at the end of a dotted path, in records; a step that ends in `[]` becomes a list of one. */
export function nest(path: string, value: unknown): Record<string, unknown> {
  const [step = "", ...rest] = path.split(".");
  const inner = rest.length === 0 ? value : nest(rest.join("."), value);
  return step.endsWith("[]") ? { [step.slice(0, -2)]: [inner] } : { [step]: inner };
}
