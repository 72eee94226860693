import { spawnSync } from "node:child_process";
import { binary } from "./paths.ts";

/** Run by a shell inside: brings the loopback interface up, and then runs the arguments. */
const enter = `"${binary("loopback-up")}" && "$@"`;

const own = ["--net", "--mount", "--propagation", "private"];
/** Processes of a namespace of their own all end with its first one, whatever happens to whoever should end them. */
const ownProcesses = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const asUser = ["--user", "--map-root-user"];

/** The ways into a private network namespace, best first: as root, through a user namespace, each also without a process namespace. */
const ways: readonly string[][] = [
  [...own, ...ownProcesses],
  [...asUser, ...own, ...ownProcesses],
  own,
  [...asUser, ...own],
];

/** The command that runs another one on a loopback of its own; undefined where the machine allows none. */
export function isolated(command: readonly string[]): string[] | undefined {
  const through = (way: readonly string[], inner: readonly string[]): string[] => [
    "unshare",
    ...way,
    "sh",
    "-c",
    enter,
    "sh",
    ...inner,
  ];
  const way = ways.find((candidate) => {
    const [program = "", ...args] = through(candidate, ["true"]);
    return spawnSync(program, args, { stdio: "ignore" }).status === 0;
  });
  return way === undefined ? undefined : through(way, command);
}
