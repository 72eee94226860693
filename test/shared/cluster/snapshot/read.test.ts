import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { documentsIn } from "../../../../shared/cluster/snapshot/documents.ts";
import { readObjects } from "../../../../shared/cluster/snapshot/read.ts";
import { type KubeObject, keyOf, keyText } from "../../../../shared/objects/object.ts";
import { InputError } from "../../../../shared/setup/input-error.ts";
import { folderOf } from "../../../build/folder.ts";
import { machine, metal3Machine, metal3MachineTemplate, object } from "../../../build/objects.ts";

type Files = Parameters<typeof folderOf>[0];

async function keysIn(files: Files): Promise<readonly string[]> {
  return (await readObjects(await folderOf(files))).map((one) => keyText(keyOf(one)));
}

async function refusalOf(files: Files): Promise<string> {
  const folder = await folderOf(files);
  const error: unknown = await readObjects(folder).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InputError);
  return (error as InputError).message.replace(folder, "<folder>");
}

const yaml = (name: string, kind = "ConfigMap") => `apiVersion: v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const jsonLines = (...names: readonly string[]) =>
  names.map((name) => JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } })).join("\n");
const A = "/ConfigMap//a";
const B = "/ConfigMap//b";

describe("what can be read", () => {
  it.each<[string, Files, readonly string[]]>([
    ["a YAML file", { "a.yaml": yaml("a") }, [A]],
    ["a .yml file", { "a.yml": yaml("a") }, [A]],
    [
      "upper-case extensions",
      { "a.YAML": yaml("a"), "b.JSON": JSON.stringify(object("ConfigMap.v1", "b")) },
      [A, "/ConfigMap/sylva/b"],
    ],
    ["several documents", { "a.yaml": `${yaml("a")}---\n${yaml("b")}` }, [A, B]],
    ["empty documents between them", { "a.yaml": `---\n---\n${yaml("a")}---\n# nothing\n---\n${yaml("b")}` }, [A, B]],
    ["documents that are ended", { "a.yaml": `---\n${yaml("a")}...\n---\n${yaml("b")}` }, [A, B]],
    ["comments alone", { "a.yaml": "# nothing here\n" }, []],
    ["an empty file", { "a.yaml": "" }, []],
    ["a byte order mark", { "a.yaml": `\uFEFF${yaml("a")}` }, [A]],
    ["lines that end in CR LF", { "a.yaml": `${yaml("a")}---\n${yaml("b")}`.replaceAll("\n", "\r\n") }, [A, B]],
    [
      "JSON",
      { "a.json": JSON.stringify(metal3MachineTemplate("t")) },
      ["infrastructure.cluster.x-k8s.io/Metal3MachineTemplate/sylva/t"],
    ],
    [
      "JSON indented with tabs",
      { "a.json": JSON.stringify(object("ConfigMap.v1", "a"), null, "\t") },
      ["/ConfigMap/sylva/a"],
    ],
    ["JSON lines", { "a.json": jsonLines("a", "b") }, [A, B]],
    [
      "JSON lines with blank ones, ended by CR LF",
      { "a.json": `\r\n${jsonLines("a")}\r\n\r\n${jsonLines("b")}\r\n` },
      [A, B],
    ],
    ["JSON values one right after another", { "a.json": jsonLines("a") + jsonLines("b") }, [A, B]],
    [
      "JSON values, indented, one after another",
      { "a.json": ["a", "b"].map((name) => JSON.stringify(JSON.parse(jsonLines(name)), null, 2)).join("\n") },
      [A, B],
    ],
    [
      "JSON lines of Lists",
      { "a.json": [["a"], ["b"]].map(([name = ""]) => `{"kind": "List", "items": [${jsonLines(name)}]}`).join("\n") },
      [A, B],
    ],
    [
      "JSON lines whose texts hold brackets, quotes and backslashes",
      { "a.json": `${jsonLines("a").replace("}}", '}, "x": "}{\\"]\\\\"}')}\n${jsonLines("b")}` },
      [A, B],
    ],
    ["JSON with a byte order mark", { "a.json": `\uFEFF${jsonLines("a")}` }, [A]],
    ["JSON with comments", { "a.json": `# mine\n${jsonLines("a")} # too\n` }, [A]],
    ["JSON documents between ---", { "a.json": `${jsonLines("a")}\n---\n${jsonLines("b")}\n` }, [A, B]],
    ["YAML in a .json file", { "a.json": yaml("a") }, [A]],
    ["null in a .json file", { "a.json": "null" }, []],
    ["an empty .json file", { "a.json": "" }, []],
    ["an anchor", { "a.yaml": `${yaml("a")}x: &x {y: 1}\nz: *x\n` }, [A]],
    ["an unknown tag", { "a.yaml": `${yaml("a")}x: !custom {y: 1}\n` }, [A]],
    ["nested folders, by path", { "b/c/b.yaml": yaml("b"), "a/a.yaml": yaml("a") }, [A, B]],
    [
      "other files beside them",
      { "a.yaml": yaml("a"), "README.md": "kind: [", "script.sh": "exit 1", LICENSE: "" },
      [A],
    ],
    [
      "unknown kinds",
      { "a.yaml": "apiVersion: never.heard.of/v7\nkind: Whatever\nmetadata: {name: x, namespace: y}\nspec: 5\n" },
      ["never.heard.of/Whatever/y/x"],
    ],
  ])("%s", async (_, files, expected) => {
    expect(await keysIn(files)).toEqual(expected);
  });

  it("keeps everything an object holds, timestamps as text", async () => {
    const [one] = await readObjects(
      await folderOf({ "a.yaml": `${yaml("a")}when: 2026-08-01T00:00:00Z\nspec: {n: 1, list: [a, {b: null}]}\n` }),
    );
    expect(one).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
      when: "2026-08-01T00:00:00Z",
      spec: { n: 1, list: ["a", { b: null }] },
    });
  });
});

describe("lists", () => {
  const list = (kind: string, items: unknown, apiVersion = "v1") => ({
    "dump.json": JSON.stringify({ apiVersion, kind, items }),
  });
  const bare = (name: string) => ({ metadata: { name } });

  it.each<[string, Files, readonly string[]]>([
    [
      "a List, as kubectl get prints it",
      list("List", [object("ConfigMap.v1", "a"), object("Secret.v1", "b")]),
      ["/ConfigMap/sylva/a", "/Secret/sylva/b"],
    ],
    [
      "a List in a List",
      list("List", [{ apiVersion: "v1", kind: "List", items: [object("ConfigMap.v1", "a")] }]),
      ["/ConfigMap/sylva/a"],
    ],
    ["an empty List", list("List", []), []],
    ["a List without items", list("List", null), []],
    [
      "a typed list, whose items do not say their kind",
      list("MachineList", [bare("a"), bare("b")], "cluster.x-k8s.io/v1beta1"),
      ["cluster.x-k8s.io/Machine//a", "cluster.x-k8s.io/Machine//b"],
    ],
    [
      "a typed list, whose items do",
      list("MachineList", [object("Machine.cluster.x-k8s.io/v1beta2", "a")], "cluster.x-k8s.io/v1beta1"),
      ["cluster.x-k8s.io/Machine/sylva/a"],
    ],
  ])("%s", async (_, files, expected) => {
    expect(await keysIn(files)).toEqual(expected);
  });

  it("a kubectl get -o yaml dump with its own metadata", async () => {
    const dump = [
      "apiVersion: v1",
      "items:",
      "- apiVersion: infrastructure.cluster.x-k8s.io/v1beta1",
      "  kind: Metal3MachineTemplate",
      "  metadata:",
      "    annotations:",
      "      kubectl.kubernetes.io/last-applied-configuration: |",
      '        {"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1"}',
      '    creationTimestamp: "2026-08-01T00:00:00Z"',
      "    generation: 1",
      "    name: mgmt-cp-1a2b",
      "    namespace: sylva",
      '    resourceVersion: "4711"',
      "    uid: 0e1c",
      "  spec: {template: {spec: {nodeReuse: true}}}",
      "kind: List",
      "metadata:",
      '  resourceVersion: ""',
      "",
    ].join("\n");
    expect(await keysIn({ "all.yaml": dump })).toEqual([
      "infrastructure.cluster.x-k8s.io/Metal3MachineTemplate/sylva/mgmt-cp-1a2b",
    ]);
  });

  it("an object of a kind that ends in List but has no items is an object", async () => {
    expect(await keysIn({ "a.yaml": yaml("a", "AllowList") })).toEqual(["/AllowList//a"]);
  });
});

it("clusterctl move --to-directory writes one file per object", async () => {
  const objects = [metal3MachineTemplate("t"), metal3Machine("m")];
  const files = objects.map((one) => [`${one.kind}_sylva_${one.metadata.name}.yaml`, JSON.stringify(one)]);
  expect(await readObjects(await folderOf(Object.fromEntries(files)))).toEqual(objects);
});

describe("what cannot -> file, document and reason", () => {
  const place = "a.yaml, document 1";

  it.each<[string, Files, string]>([
    ["broken YAML", { "a.yaml": "kind: [" }, `${place}: Flow sequence`],
    ["broken JSON", { "a.json": '{"kind":' }, "a.json, document 1: "],
    [
      "JSON lines of which one is no object",
      { "a.json": `${JSON.stringify(object("A.v1", "a"))}\n{}` },
      "a.json, document 2: is no Kubernetes object",
    ],
    [
      "JSON lines of which one is broken",
      { "a.json": `${jsonLines("a", "b")}\n{"kind": \n` },
      "a.json, document 3: Unexpected end",
    ],
    ["JSON lines that end in text", { "a.json": `${jsonLines("a", "b")}\nhello\n` }, "a.json, document 3: Unexpected"],
    ["JSON lines that close too much", { "a.json": `${jsonLines("a", "b")}\n}` }, "a.json, document 3: Unexpected"],
    ["JSON lines in a .yaml file", { "a.yaml": jsonLines("a", "b") }, `${place}: Unexpected`],
    ["JSON whose text never ends", { "a.json": `${jsonLines("a")}\n{"kind": "` }, "a.json, document 1: "],
    ["a tab as indentation", { "a.yaml": "metadata:\n\tname: a\n" }, `${place}: Tabs are not allowed`],
    ["a key that stands twice", { "a.yaml": `${yaml("a")}kind: Other\n` }, `${place}: Map keys must be unique`],
    ["the second document", { "a.yaml": `${yaml("a")}---\nkind: {` }, "a.yaml, document 2: "],
    [
      "the third, after an empty one",
      { "a.yaml": `${yaml("a")}---\n---\nhello\n` },
      "a.yaml, document 3: is no Kubernetes object",
    ],
    ["a file in a folder below", { "x/y/a.yaml": "hello" }, "x/y/a.yaml, document 1: is no Kubernetes object"],
    ["text", { "a.yaml": "hello" }, `${place}: is no Kubernetes object`],
    ["a bare list", { "a.yaml": "- a" }, `${place}: is no Kubernetes object`],
    [
      "no kind",
      { "a.yaml": "apiVersion: v1\nmetadata: {name: a}" },
      `${place}: is no Kubernetes object: ✖ Invalid input: expected string, received undefined at kind`,
    ],
    ["no apiVersion", { "a.yaml": "kind: A\nmetadata: {name: a}" }, "at apiVersion"],
    ["no metadata", { "a.yaml": "apiVersion: v1\nkind: A" }, "at metadata"],
    ["no name", { "a.yaml": "apiVersion: v1\nkind: A\nmetadata: {}" }, "at metadata.name"],
    [
      "a name that is a number",
      { "a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: 5}" },
      "received number at metadata.name",
    ],
    [
      "an annotation that is no text",
      { "a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {x: true}}" },
      "at metadata.annotations.x",
    ],
    [
      "a finalizer that is no text",
      { "a.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: a, finalizers: [5]}" },
      "at metadata.finalizers[0]",
    ],
    [
      "items that are no list",
      { "a.yaml": "apiVersion: v1\nkind: List\nitems: 5" },
      `${place}: items of List is no list`,
    ],
    [
      "an item that is no object",
      { "a.yaml": "apiVersion: v1\nkind: List\nitems: [5]" },
      `${place}: is no Kubernetes object`,
    ],
    ["a List that has no items at all", { "a.yaml": "apiVersion: v1\nkind: List" }, place],
    [
      "bytes that are no UTF-8",
      { "a.yaml": new Uint8Array([0xff, 0xfe, 0x00]) },
      "a.yaml: cannot be read as UTF-8 text",
    ],
    ["JSON nested too deep", { "a.json": deep(501) }, "a.json, document 1: is nested too deep"],
    ["JSON nested deeper than any stack", { "a.json": deep(200_000) }, "a.json, document 1: is nested too deep"],
    ["anchors that multiply", { "a.yaml": multiplied() }, `${place}: Excessive alias count`],
    ["an anchor that contains itself", { "a.yaml": `${yaml("a")}spec: &a {self: *a}\n` }, place],
    ["an alias of nothing", { "a.yaml": `${yaml("a")}spec: *nothing\n` }, place],
    ["no file that could be one", { "a.txt": "hello" }, "<folder>: holds no .yaml, .yml or .json file"],
    ["an empty folder", {}, "<folder>: holds no .yaml, .yml or .json file"],
  ])("%s", async (_, files, expected) => {
    const message = await refusalOf(files);
    expect(message).toContain(expected);
    expect(message).not.toContain("\n");
  });

  it("a folder that is not there", async () => {
    await expect(readObjects("/nowhere/at/all")).rejects.toThrow(/^\/nowhere\/at\/all: no folder that can be read/);
  });

  it("a file in the place of the folder", async () => {
    const folder = await folderOf({ "a.yaml": yaml("a") });
    await expect(readObjects(`${folder}/a.yaml`)).rejects.toThrow(InputError);
  });

  // As many levels as asked for, the object itself being one of them.
  function deep(levels: number): string {
    const [open, close] = ['{"a":'.repeat(levels - 1), "}".repeat(levels - 1)];
    return `{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "a"}, "spec": ${open}1${close}}`;
  }

  // Nine levels of nine: small on disk, close to four hundred million items in memory.
  function multiplied(): string {
    const lines = Array.from(
      { length: 9 },
      (_, n) =>
        `k${n}: &k${n} [${Array(9)
          .fill(n === 0 ? "x" : `*k${n - 1}`)
          .join()}]`,
    );
    return `${yaml("a")}${lines.join("\n")}\n`;
  }
});

describe("the same object twice", () => {
  it("alike -> once", async () => {
    expect(await keysIn({ "a.yaml": yaml("a"), "b/again.yaml": yaml("a") })).toEqual([A]);
    expect(
      await keysIn({
        "a.yaml": yaml("a"),
        "a.json": JSON.stringify({ kind: "ConfigMap", metadata: { name: "a" }, apiVersion: "v1" }),
      }),
    ).toEqual([A]);
  });

  it("different -> both places", async () => {
    const files = { "a.yaml": `${yaml("b")}---\n${yaml("a")}`, "z.yaml": `${yaml("a")}data: {x: "1"}\n` };
    expect(await refusalOf(files)).toBe(
      `z.yaml, document 1: ${A} stands already, and differently, in a.yaml, document 2; keep one of them`,
    );
  });

  it("in two API versions -> both places, for they are one object", async () => {
    const one = (version: "v1beta1" | "v1beta2") => JSON.stringify(metal3MachineTemplate("t", { version }));
    expect(await refusalOf({ "a.json": one("v1beta1"), "b.json": one("v1beta2") })).toContain("a.json, document 1");
  });

  it("equal names in two namespaces or kinds -> two objects", async () => {
    const there = yaml("a").replace("{", "{namespace: x, ");
    expect(await keysIn({ "a.yaml": yaml("a"), "b.yaml": there, "c.yaml": yaml("a", "Secret") })).toHaveLength(3);
  });
});

describe("in whatever form the same objects are written", () => {
  const template = metal3MachineTemplate("t");
  const texts = { yes: "no", n: "1e3", t: "2026-08-01", m: "a: b\n# c\n---\n", u: "\u2028é😀", q: "\"'\\" };
  const objects: readonly KubeObject[] = [
    template,
    metal3Machine("m", { clonedFrom: template }),
    machine("m", { version: "v1beta2" }),
    object("ConfigMap.v1", "c", { data: texts, n: [0, -1, 1.5, 1e21, true, null, "", [], {}] }),
  ];
  const list = { apiVersion: "v1", kind: "List", items: objects };
  const stripped = objects.map(({ apiVersion: _a, kind: _k, ...rest }) => rest);
  const typed = objects.map(({ apiVersion, kind }, n) => ({ apiVersion, kind: `${kind}List`, items: [stripped[n]] }));
  const json = (values: readonly unknown[], indent = 0) => values.map((one) => JSON.stringify(one, null, indent));
  const documents = (values: readonly unknown[]) => values.map((one) => stringify(one)).join("---\n");

  it.each<[string, Files]>([
    ["JSON lines", { "a.json": json(objects).join("\n") }],
    ["JSON values, indented", { "a.json": json(objects, 4).join("\n") }],
    ["a List as JSON", { "a.json": JSON.stringify(list) }],
    ["a List as indented JSON", { "a.json": JSON.stringify(list, null, 4) }],
    ["typed lists as JSON lines", { "a.json": json(typed).join("\n") }],
    ["JSON in YAML documents", { "a.yaml": json(objects).join("\n---\n") }],
    ["YAML documents", { "a.yaml": documents(objects) }],
    ["a List as YAML", { "a.yaml": stringify(list) }],
    ["typed lists as YAML", { "a.yaml": documents(typed) }],
    ["YAML in a .json file", { "a.json": documents(objects) }],
    [
      "a file for each, JSON and YAML in turn",
      Object.fromEntries(
        objects.map((one, n) => (n % 2 ? [`${n}.yaml`, stringify(one)] : [`${n}.json`, JSON.stringify(one)])),
      ),
    ],
  ])("%s -> the same objects in the same order", async (_, files) => {
    expect(await readObjects(await folderOf(files))).toEqual(objects);
  });

  it("fields called like parts of JavaScript's own are data", async () => {
    const text = '{"apiVersion":"v1","kind":"A","metadata":{"name":"a","labels":{"constructor":"x","__proto__":"y"}}}';
    for (const file of ["a.json", "a.yaml"]) {
      const [one] = await readObjects(await folderOf({ [file]: text }));
      expect(Object.getPrototypeOf(one?.metadata.labels)).toBe(Object.prototype);
      expect(one?.metadata.labels).toEqual({ constructor: "x" });
    }
  });

  test("YAML a document at a time reads and refuses as all of it at once", () => {
    const text = `${yaml("a")}---\n# none\n---\nx: &x [1, "2"]\ny: {z: *x}\n...\n--- |\n text\n\n---\n${yaml("b")}`;
    const noise = fc.constantFrom(
      "\n",
      "\t",
      " ",
      ":",
      "- ",
      "---\n",
      "...\n",
      "{",
      "}",
      "[",
      '"',
      "'",
      "&x ",
      "*x",
      "#",
      "%Y 1\n",
      "|",
      "? ",
      "\r\n",
      "é",
      "!!",
      "kind: B\n",
    );
    const change = fc.record({ at: fc.nat(text.length), remove: fc.nat(6), put: noise });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const changed = changes.reduce(
          (now, { at, remove, put }) => now.slice(0, at) + put + now.slice(at + remove),
          text,
        );
        expect(outcomeOf(changed)).toEqual(outcomeAtOnce(changed));
      }),
      { numRuns: 1000 },
    );
  });

  interface Outcome {
    readonly values: readonly unknown[];
    readonly error?: string;
  }

  function outcomeOf(text: string): Outcome {
    const values: unknown[] = [];
    try {
      for (const { value } of documentsIn(text, "a.yaml")) values.push(value);
      return { values };
    } catch (error) {
      return { values, error: (error as Error).message };
    }
  }

  function outcomeAtOnce(text: string): Outcome {
    const parsed = parseAllDocuments(text, { logLevel: "error" });
    const values: unknown[] = [];
    for (const [index, document] of ("empty" in parsed ? [] : parsed).entries()) {
      const [problem] = document.errors;
      try {
        if (problem !== undefined) throw problem;
        const value: unknown = document.toJS();
        JSON.stringify(value);
        values.push(value);
      } catch (error) {
        const [line = ""] = (error as Error).message.split("\n", 1);
        return { values, error: `a.yaml, document ${index + 1}: ${line.replace(/:$/, "")}` };
      }
    }
    return { values };
  }
});
