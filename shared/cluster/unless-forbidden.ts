import { failedWith } from "./cluster.ts";

/**
 * What a read gives, or "forbidden" where no role grants it: no component for its provider is installed, so sending the
 * event again would not help. Throws whatever else the read throws.
 */
export async function unlessForbidden<Result>(read: Promise<Result>): Promise<Result | "forbidden"> {
  try {
    return await read;
  } catch (error) {
    if (failedWith(error, "forbidden")) return "forbidden";
    throw error;
  }
}
