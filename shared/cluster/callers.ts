import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from "jose";
import type { Callers } from "../setup/settings.ts";
import { ClusterError } from "./cluster.ts";

/** Who signs the tokens of service accounts. */
export interface Issuer {
  readonly name: string;
  readonly keys: JSONWebKeySet;
  /** When it was asked; a key that it has taken into use since is not among these. */
  readonly askedAt: Temporal.Instant;
}

/** Both reject with a ClusterError where the issuer does not answer. */
export interface IssuerSource {
  /** As it was some minutes ago at most. */
  known(): Promise<Issuer>;
  /** As it is now, or as it was a moment ago where it was asked then. */
  latest(): Promise<Issuer>;
}

/** Why an event is not taken; `subject` is the user name of a token that the issuer did sign. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly reason: string;
  readonly subject: string | undefined;
}

/**
 * Judges the Authorization header of a request; undefined lets it through.
 *
 * Throws where no judgement can be made now and a later one can.
 */
export type CheckCaller = (authorization: string | undefined) => Promise<Refusal | undefined>;

/** With these alone an API server signs (kubernetes pkg/serviceaccount/jwt.go); none of them takes a public key for a secret. */
const ALGORITHMS = ["RS256", "ES256", "ES384", "ES512"];
/** A token is sent right after it is signed, and the clocks of two machines differ. */
const CLOCK_TOLERANCE_S = 30;

/** Lets through who shows a token that the issuer signed, for this audience, of one of these subjects. */
export function checkCallers(callers: Callers, source: IssuerSource, now: () => Temporal.Instant): CheckCaller {
  return async (authorization) => {
    const arrived = now();
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    if (token === undefined) return { status: 401, reason: "no bearer token", subject: undefined };
    const known = await judge(token, await source.known(), callers, arrived);
    if (!known.mayBeOutdated) return known.refusal;
    const issuer = await source.latest();
    const latest = await judge(token, issuer, callers, arrived);
    // The Broker gives up at 401, so a key that may be newer than what is known here must not end in one.
    if (latest.mayBeOutdated && Temporal.Instant.compare(issuer.askedAt, arrived) < 0) {
      throw new ClusterError(
        "unavailable",
        "a token names a key or an issuer that is not known, and both were asked for just now",
      );
    }
    return latest.refusal;
  };
}

interface Judgement {
  readonly refusal: Refusal | undefined;
  /** Whether an issuer that has changed since it was asked would explain the refusal. */
  readonly mayBeOutdated: boolean;
}

async function judge(token: string, issuer: Issuer, callers: Callers, at: Temporal.Instant): Promise<Judgement> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(issuer.keys), {
      issuer: issuer.name,
      audience: callers.audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "sub"],
      currentDate: new Date(at.epochMilliseconds),
      clockTolerance: CLOCK_TOLERANCE_S,
    });
    const { sub: subject = "" } = payload;
    if (callers.subjects.includes(subject)) return { refusal: undefined, mayBeOutdated: false };
    return { refusal: { status: 403, reason: "not in OIDC_SUBJECTS", subject }, mayBeOutdated: false };
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    // jose looks at claims once the signature is right.
    const isSigned = error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired;
    const subject = isSigned ? error.payload.sub : undefined;
    return {
      refusal: { status: 401, reason: error.message, subject },
      mayBeOutdated: error instanceof errors.JWKSNoMatchingKey || (isSigned && error.claim === "iss"),
    };
  }
}
