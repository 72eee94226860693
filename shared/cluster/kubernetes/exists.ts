import type { ObjectKey } from "../../objects/object.ts";
import { failedWith, type ServedKind } from "../cluster.ts";
import { isUnknownPath } from "./api-error.ts";
import { objectPath, query } from "./paths.ts";
import { jsonOf, type Request } from "./request.ts";

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";

/**
 * Whether an object is there, asked as a table without the object: nothing of a Secret's data ever reaches us
 * (k8s.io/apimachinery pkg/apis/meta/v1 TableOptions, includeObject).
 */
export async function objectExists(request: Request, kind: ServedKind, key: ObjectKey): Promise<boolean> {
  const path = objectPath(kind, key) + query({ includeObject: "None" });
  try {
    await request({ method: "GET", path, accept: TABLE }, jsonOf);
    return true;
  } catch (error) {
    if (failedWith(error, "not-found") && !isUnknownPath(error)) return false;
    throw error;
  }
}
