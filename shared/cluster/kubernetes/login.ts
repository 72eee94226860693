import type { RequestOptions } from "node:https";

/** Where the API server is and how to be known there. */
export interface Login {
  readonly server: URL;
  /** Where the credentials come from, for people. */
  readonly source: string;
  /** Trust and credentials for one request, as they are now; with an agent only where the way leads through a proxy. */
  options(): Promise<RequestOptions>;
}
