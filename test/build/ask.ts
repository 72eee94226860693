import type { App } from "../../shared/serving/serve.ts";

/** The answer of an app to one request, without a socket. `init` is as for fetch. */
export async function ask(app: App, path: string, init: RequestInit = {}): Promise<Response> {
  const request = new Request(path.startsWith("/") ? `http://f${path}` : path, init);
  const { method, url } = request;
  const answer = await app({
    method,
    path: new URL(url).pathname,
    headers: Object.fromEntries(request.headers),
    async text(most) {
      const bytes = await request.arrayBuffer();
      return bytes.byteLength > most ? undefined : new TextDecoder().decode(bytes);
    },
  });
  const { status, headers = {}, body = null } = answer;
  return new Response(method === "HEAD" ? null : body, { status, headers });
}
