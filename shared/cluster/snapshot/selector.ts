import { ClusterError } from "../cluster.ts";

const TERM = /^([^=!\s()]+)(?:=([^=!\s()]*))?$/;

/**
 * Whether labels match a selector of the two forms that this project asks with: `key` and `key=value`, with commas
 * between them. Throws a ClusterError "invalid" for any other form, of which an API server knows more.
 */
export function isSelected(labels: Readonly<Record<string, string>>, selector: string): boolean {
  return selector.split(",").every((term) => {
    const [, key, value] = TERM.exec(term) ?? [];
    if (key === undefined) throw new ClusterError("invalid", `unable to parse the label selector ${selector}`);
    return value === undefined ? labels[key] !== undefined : labels[key] === value;
  });
}
