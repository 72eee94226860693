import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** The account that everything runs as; the same number as in the Dockerfile. */
export const USER = 65532;

/** Where the image has Node's executable, from its root. */
export const NODE_PATH = "usr/local/bin/node";

/** The files that make a user, a resolver and a scanner of vulnerabilities find what they look for. */
const WRITTEN: Readonly<Record<string, string>> = {
  "etc/passwd": `root:x:0:0:root:/:/sbin/nologin\ncaretaker:x:${USER}:${USER}:caretaker:/:/sbin/nologin\n`,
  "etc/group": `root:x:0:\ncaretaker:x:${USER}:\n`,
  "etc/nsswitch.conf": "hosts: files dns\n",
  "etc/os-release": 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Libraries of Debian 13"\nID=debian\nVERSION_ID="13"\n',
};

const CERTIFICATES = "usr/share/ca-certificates/mozilla";

/** Whether a file of a Debian package goes into the image: shared libraries, certificates, and what they are licensed under. */
export function isKept(path: string): boolean {
  if (/^usr\/share\/doc\/[^/]+(\/copyright)?$/.test(path)) return true;
  if (path.startsWith(`${CERTIFICATES}/`)) return true;
  // Below the libraries' folder are plug-ins for character sets and auditing, which Node has no use for.
  return /^usr\/lib(64)?\/([^/]+\/)?[^/]+\.so(\.[0-9.]+)?$/.test(path);
}

/** Fills a folder with what the image has beside Node and the bundle, out of these Debian packages. */
export function makeSystemRoot(root: string, packages: readonly string[]): void {
  for (const file of packages) {
    unpackDebian(file, root);
    const about = execFileSync("dpkg-deb", ["--field", file], { encoding: "utf8" });
    // One file for each package is how images without a package manager tell scanners what they hold.
    write(root, `var/lib/dpkg/status.d/${/^Package: (.+)$/m.exec(about)?.[1]}`, about);
  }
  for (const folder of ["lib", "lib64"]) {
    if (existsSync(join(root, "usr", folder))) symlinkSync(`usr/${folder}`, join(root, folder));
  }
  for (const [path, text] of Object.entries(WRITTEN)) write(root, path, text);
  const certificates = readdirSync(join(root, CERTIFICATES)).toSorted();
  const texts = certificates.map((name) => readFileSync(join(root, CERTIFICATES, name), "utf8").trimEnd());
  write(root, "etc/ssl/certs/ca-certificates.crt", `${texts.join("\n")}\n`);
  rmSync(join(root, "usr/share/ca-certificates"), { recursive: true });
}

/** Fills a folder with Node's executable, out of the archive that npm has of it. */
export function makeNodeRoot(root: string, archive: string): void {
  const unpacked = mkdtempSync(`${root}-`);
  execFileSync("tar", ["-xzf", archive, "-C", unpacked, "package/bin/node", "package/LICENSE"]);
  copy(join(unpacked, "package/bin/node"), join(root, NODE_PATH));
  copy(join(unpacked, "package/LICENSE"), join(root, "usr/share/doc/node/LICENSE"));
  rmSync(unpacked, { recursive: true });
}

/** Fills a folder with the bundle, everything in the folder that the bundle step wrote, and with licences by their file's name. */
export function makeAppRoot(root: string, bundle: string, licences: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(licences)) write(root, `usr/share/doc/capi-caretaker/${name}`, text);
  cpSync(bundle, join(root, "app"), { recursive: true });
}

function unpackDebian(file: string, root: string): void {
  const unpacked = mkdtempSync(`${root}-`);
  execFileSync("dpkg-deb", ["--extract", file, unpacked]);
  for (const entry of readdirSync(unpacked, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(unpacked.length + 1);
    if (!entry.isDirectory() && isKept(path)) copy(join(unpacked, path), join(root, path));
  }
  rmSync(unpacked, { recursive: true });
}

/** A link stays one, whether or not what it names is there. */
function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to);
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
