import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { ClusterError, type ClusterFailure } from "../cluster.ts";
import type { Call } from "./transport.ts";

/** meta.k8s.io/v1 Status, as far as it tells failures apart. */
export const Status = z.looseObject({
  kind: z.literal("Status"),
  code: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  details: z
    .looseObject({
      name: z.string().optional(),
      kind: z.string().optional(),
      causes: z.array(z.looseObject({ field: z.string().optional() })).nullish(),
    })
    .nullish(),
});
export type Status = z.infer<typeof Status>;

/** An answer of the API server that is no success. */
export class ApiError extends ClusterError {
  readonly status: number;
  /** What the server says is wrong; undefined when the answer was not the API's own (a proxy, an unknown path). */
  readonly said: Status | undefined;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfter: number | undefined;
  constructor(call: Call, status: number, body: string, retryAfter?: string) {
    const said = parseStatus(body);
    const reason = [said?.reason ?? STATUS_CODES[status], said?.message?.slice(0, 500)].filter(Boolean).join(": ");
    const [path] = call.path.split("?", 1);
    super(failureOf(status, said), `${call.method} ${path}: ${status} ${reason}`);
    this.status = status;
    this.said = said;
    this.retryAfter = retryAfter !== undefined && /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
  }
}

/**
 * Whether a 404 is about the path, not about an object: the kind is not served there (any more). A missing object, and
 * a missing namespace at a create, are named in the details.
 */
export function isUnknownPath(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && !error.said?.details?.name;
}

/** Reasons: k8s.io/apimachinery pkg/apis/meta/v1/types.go, StatusReason. */
function failureOf(status: number, said: Status | undefined): ClusterFailure {
  if (status === 403 && isAdmission(said)) return "invalid";
  if (status === 401 || status === 403) return "forbidden";
  if (status === 404) return "not-found";
  if (status === 409) return said?.reason === "AlreadyExists" ? "already-exists" : "conflict";
  if (status === 410) return "expired";
  if (status === 422 && isAnotherUid(said)) return "conflict";
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) return "invalid";
  return "unavailable";
}

// A uid in a patch that is not the object's is refused as a change of an immutable field, not as a failed precondition.
function isAnotherUid(said: Status | undefined): boolean {
  return said?.details?.causes?.some(({ field }) => field === "metadata.uid") ?? false;
}

// An admission webhook refuses content with the code of a missing right
// (k8s.io/apiserver pkg/admission/plugin/webhook/errors/statuserror.go).
function isAdmission(said: Status | undefined): boolean {
  return said?.message?.startsWith("admission webhook ") ?? false;
}

function parseStatus(body: string): Status | undefined {
  try {
    return Status.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
