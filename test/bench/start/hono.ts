import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";

// The least that answers an event: what the functions' start is measured against.
const app = new Hono();
app.post("/", async (c) => {
  JSON.parse(await c.req.text());
  return c.body(null, 204);
});
createServer(getRequestListener(app.fetch)).listen(Number(process.env.PORT));
