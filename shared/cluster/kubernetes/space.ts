/** Memory for one body after the other, so that many large ones leave nothing to be collected. */
export interface Space {
  /** The whole body; what was filled in before is overwritten. */
  fill(chunks: AsyncIterable<Buffer>): Promise<Buffer>;
}

export function createSpace(): Space {
  let space = Buffer.allocUnsafeSlow(64 * 1024);
  return {
    async fill(chunks) {
      let length = 0;
      for await (const chunk of chunks) {
        if (length + chunk.length > space.length) {
          const larger = Buffer.allocUnsafeSlow(2 * (length + chunk.length));
          space.copy(larger, 0, 0, length);
          space = larger;
        }
        chunk.copy(space, length);
        length += chunk.length;
      }
      return space.subarray(0, length);
    },
  };
}
