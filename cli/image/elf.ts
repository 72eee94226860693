import type { Architecture } from "./pins.ts";

/** What an executable or a library asks the dynamic linker for. */
export interface Linked {
  /** What it was compiled for; undefined for anything that no image is made for. */
  readonly architecture: Architecture | undefined;
  /** Path of the dynamic linker; only executables name one. */
  readonly interpreter: string | undefined;
  /** File names, such as `libc.so.6`. */
  readonly libraries: readonly string[];
}

/** `e_machine` of the ELF header. */
const MACHINES: Readonly<Record<number, Architecture>> = { 62: "amd64", 183: "arm64" };
const SEGMENT = { load: 1, dynamic: 2, interpreter: 3 };
const ENTRY = { needed: 1n, strings: 5n };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Reads a 64-bit little-endian ELF file (System V ABI, chapters 4 and 5). Throws for any other. */
export function linkedBy(file: Buffer): Linked {
  if (file.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") throw new Error("not a 64-bit little-endian ELF file");
  const segments = segmentsOf(file);
  const interpreter = segments.find(({ type }) => type === SEGMENT.interpreter);
  const dynamic = segments.find(({ type }) => type === SEGMENT.dynamic);
  return {
    architecture: MACHINES[file.readUInt16LE(18)],
    interpreter: interpreter && textAt(file, interpreter.offset),
    libraries: dynamic === undefined ? [] : librariesOf(file, dynamic, segments),
  };
}

function segmentsOf(file: Buffer): readonly Segment[] {
  const [start, size, count] = [number(file, 32), file.readUInt16LE(54), file.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: number(file, at + 8),
      address: number(file, at + 16),
      size: number(file, at + 32),
    };
  });
}

function librariesOf(file: Buffer, { offset, size }: Segment, segments: readonly Segment[]): readonly string[] {
  const entries = Array.from({ length: size / 16 }, (_, index) => {
    const at = offset + index * 16;
    return { tag: file.readBigInt64LE(at), value: number(file, at + 8) };
  });
  const strings = entries.find(({ tag }) => tag === ENTRY.strings)?.value ?? 0;
  const loaded = segments.find((one) => {
    return one.type === SEGMENT.load && one.address <= strings && strings < one.address + one.size;
  });
  if (loaded === undefined) return [];
  const names = strings - loaded.address + loaded.offset;
  return entries.flatMap(({ tag, value }) => (tag === ENTRY.needed ? [textAt(file, names + value)] : []));
}

function number(file: Buffer, at: number): number {
  return Number(file.readBigUInt64LE(at));
}

function textAt(file: Buffer, at: number): string {
  return file.toString("latin1", at, file.indexOf(0, at));
}
