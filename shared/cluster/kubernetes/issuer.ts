import { z } from "zod";
import type { Settings } from "../../setup/settings.ts";
import type { Issuer, IssuerSource } from "../callers.ts";
import { ClusterError } from "../cluster.ts";
import { loadLogin } from "./load-login.ts";
import { createRequest, jsonOf, type Request, type Wait } from "./request.ts";
import { type Call, createTransport } from "./transport.ts";

/** A key that was taken out of use is trusted no longer than this. */
const LONGEST_KNOWN = Temporal.Duration.from({ minutes: 10 });
/** Whoever makes up key ids makes the API server answer no more often than this. */
const PAUSE = Temporal.Duration.from({ seconds: 5 });
const TIMEOUT_MS = PAUSE.total("milliseconds");

const text = z.string().exactOptional();
const Configuration = z.looseObject({ issuer: z.string().min(1) });
const Keys = z.looseObject({
  keys: z
    .array(
      z.object({ kty: z.string(), kid: text, use: text, alg: text, n: text, e: text, crv: text, x: text, y: text }),
    )
    .min(1),
});

/**
 * The API server as the issuer of service accounts' tokens, asked at the first need
 * (https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#service-account-issuer-discovery;
 * every service account may ask, by the ClusterRole system:service-account-issuer-discovery).
 *
 * Throws an InputError when there is no configuration that can be read.
 *
 * @param wait passes the time between two attempts of a call
 */
export async function apiServerIssuer(
  settings: Pick<Settings, "kubeconfig">,
  now: () => Temporal.Instant,
  wait?: Wait,
): Promise<IssuerSource> {
  const request = createRequest(await createTransport(() => loadLogin(settings.kubeconfig)), wait);
  let asked: { readonly at: Temporal.Instant; readonly answer: Promise<Issuer> } | undefined;
  let known: Issuer | undefined;

  const isWithin = (span: Temporal.Duration, since: Temporal.Instant) =>
    Temporal.Instant.compare(now(), since.add(span)) < 0;

  async function latest(): Promise<Issuer> {
    if (asked === undefined || !isWithin(PAUSE, asked.at)) {
      const at = now();
      asked = { at, answer: askIssuer(request, at) };
    }
    known = await asked.answer;
    return known;
  }

  return {
    latest,
    known: async () => (known !== undefined && isWithin(LONGEST_KNOWN, known.askedAt) ? known : latest()),
  };
}

async function askIssuer(request: Request, askedAt: Temporal.Instant): Promise<Issuer> {
  const [{ issuer: name }, keys] = await Promise.all([
    readAs(Configuration, request, { method: "GET", path: "/.well-known/openid-configuration" }),
    // It is served as nothing else (kubernetes pkg/routes/openidmetadata.go).
    readAs(Keys, request, { method: "GET", path: "/openid/v1/jwks", accept: "application/jwk-set+json" }),
  ]);
  return { name, keys, askedAt };
}

async function readAs<Result>(schema: z.ZodType<Result>, request: Request, call: Call): Promise<Result> {
  const answer = schema.safeParse(await request(call, jsonOf, TIMEOUT_MS));
  if (answer.success) return answer.data;
  throw new ClusterError("unavailable", `${call.method} ${call.path}: ${z.prettifyError(answer.error)}`);
}
