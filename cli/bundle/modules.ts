import { readFile } from "node:fs/promises";
import { builtinModules, createRequire } from "node:module";
import type { Plugin } from "esbuild";

/** Packages that a start inside a cluster does without, each in a file of its own. */
export const LAZY_PACKAGES: Readonly<Record<string, string>> = {
  "@kubernetes/client-node/dist/config.js": "client-node.cjs",
  jose: "jose.cjs",
  yaml: "yaml.cjs",
};

const NAMESPACE = "lazy";
const load = createRequire(import.meta.url);

/**
 * Loads Node's own modules and the packages above where something of them is used first, not where they are imported.
 *
 * It asks Node for its modules as `require` does: an `import` of one reads each of its exports, and with that loads what
 * few programs use, such as all of `fetch` for the WebSocket in node:http.
 */
export const lazyModules: Plugin = {
  name: "lazy-modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, "");
      const isLazy = builtinModules.includes(name) || path in LAZY_PACKAGES;
      return isLazy && kind !== "entry-point"
        ? { path: path in LAZY_PACKAGES ? path : `node:${name}`, namespace: NAMESPACE }
        : undefined;
    });
    onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => {
      const file = LAZY_PACKAGES[path];
      const builtin: unknown = process.getBuiltinModule(path);
      const loading = file === undefined ? `process.getBuiltinModule(${JSON.stringify(path)})` : `require("./${file}")`;
      if (path === "node:assert") {
        const whole = `new Proxy(()=>{},{apply:(_,__,args)=>${loading}(...args),get:(_,name)=>${loading}[name]})`;
        return { contents: `module.exports=${whole}` };
      }
      // What may be called or extended itself cannot wait.
      if (typeof builtin === "function" || path === "node:process") return { contents: `module.exports=${loading}` };
      const names = Object.keys(builtin ?? load(path)).filter(
        (name) => name !== "default" && name !== "module.exports",
      );
      return {
        contents: `let all;for(const name of ${JSON.stringify(names)})Object.defineProperty(exports,name,{enumerable:true,get:()=>(all??=${loading})[name]})`,
      };
    });
  },
};

/** `z` alone would be the whole of zod with all its locales; of a namespace import what is used remains. */
export const wholeZod: Plugin = {
  name: "whole-zod",
  setup({ onLoad }) {
    onLoad({ filter: /\/(cli|functions|shared)\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replace('import { z } from "zod";', 'import * as z from "zod";'), loader: "ts" };
    });
  },
};

/** Logs go to stdout from the thread that writes them; what starts threads for that would be loaded by every start. */
export const noLogThreads: Plugin = {
  name: "no-log-threads",
  setup({ onLoad }) {
    onLoad({ filter: /\/pino\/lib\/transport\.js$/ }, () => {
      return { contents: `module.exports=()=>{throw new Error("the bundle has no transports of logs")}` };
    });
  },
};
