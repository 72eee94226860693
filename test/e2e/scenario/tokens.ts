import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from "jose";
import type { ControlPlane } from "../harness/control-plane.ts";

/** The key that the API server signs the tokens of service accounts with. */
export function signingKeyOf({ folder }: ControlPlane): KeyObject {
  return createPrivateKey(readFileSync(join(folder, "service-account.pem")));
}

/** A token like another one but for these claims, signed by a key of one's own choice. */
export async function likeToken(
  token: string,
  claims: JWTPayload,
  { key, keyId }: { key: KeyObject; keyId?: string },
): Promise<string> {
  const { kid = "" } = decodeProtectedHeader(token);
  return new SignJWT({ ...decodeJwt(token), ...claims })
    .setProtectedHeader({ alg: "RS256", kid: keyId ?? kid })
    .sign(key);
}
