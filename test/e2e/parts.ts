/** One Go module under test/e2e/parts and what is built from it. */
export interface Part {
  /** Folder under test/e2e/parts. */
  name: string;
  /** Name of the built file to the Go package with its main function. */
  binaries: Record<string, string>;
  ldflags?: string;
  /** Folders with CustomResourceDefinitions inside another module, copied to .build/crds/<part>. */
  crds?: { module: string; folders: string[] };
  /** Seconds of a first build seen on 2 cores, said to whoever waits. */
  coldSeconds: number;
}

const version = "k8s.io/component-base/version";

/**
 * Without a version linked in, kube-apiserver reports one that cannot be parsed, and Cluster API's managers
 * and Knative's binaries exit when they read it.
 */
const kubernetesVersion = [
  `-X ${version}.gitVersion=v1.36.3`,
  `-X ${version}.gitMajor=1`,
  `-X ${version}.gitMinor=36`,
  `-X ${version}.gitCommit=unknown`,
  `-X ${version}.gitTreeState=clean`,
  `-X ${version}.buildDate=1970-01-01T00:00:00Z`,
].join(" ");

/** Every module, in the order in which they are built. */
export const parts: readonly Part[] = [
  { name: "loopback", binaries: { "loopback-up": "." }, coldSeconds: 5 },
  { name: "etcd", binaries: { etcd: "go.etcd.io/etcd/server/v3" }, coldSeconds: 30 },
  {
    name: "kubernetes",
    binaries: {
      "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
      "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    },
    ldflags: kubernetesVersion,
    coldSeconds: 270,
  },
  {
    name: "capi",
    binaries: {
      "capi-core": "sigs.k8s.io/cluster-api/core",
      "capi-kubeadm-control-plane": "sigs.k8s.io/cluster-api/controlplane/kubeadm",
      "capi-kubeadm-bootstrap": "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
      clusterctl: "sigs.k8s.io/cluster-api/cmd/clusterctl",
    },
    crds: {
      module: "sigs.k8s.io/cluster-api",
      folders: ["core/config/crd/bases", "controlplane/kubeadm/config/crd/bases", "bootstrap/kubeadm/config/crd/bases"],
    },
    coldSeconds: 120,
  },
  {
    name: "knative",
    binaries: {
      "apiserver-receive-adapter": "knative.dev/eventing/cmd/apiserver_receive_adapter",
      "broker-ingress": "knative.dev/eventing/cmd/broker/ingress",
      "broker-filter": "knative.dev/eventing/cmd/broker/filter",
      "channel-dispatcher": "knative.dev/eventing/cmd/in_memory/channel_dispatcher",
      eventing: ".",
    },
    crds: {
      module: "knative.dev/eventing",
      folders: ["config/core/resources", "config/channels/in-memory-channel/resources"],
    },
    coldSeconds: 160,
  },
  { name: "kustomize", binaries: { kustomize: "sigs.k8s.io/kustomize/kustomize/v5" }, coldSeconds: 80 },
  { name: "crane", binaries: { crane: "github.com/google/go-containerregistry/cmd/crane" }, coldSeconds: 15 },
  {
    name: "serving",
    // Only its schemas are used; a binary of the module is named so that the module gets fetched.
    binaries: { "knative-schema-tweak": "knative.dev/serving/cmd/schema-tweak" },
    crds: { module: "knative.dev/serving", folders: ["config/core/300-resources"] },
    coldSeconds: 60,
  },
  { name: "helm3", binaries: { helm3: "helm.sh/helm/v3/cmd/helm" }, coldSeconds: 70 },
  { name: "helm4", binaries: { helm4: "helm.sh/helm/v4/cmd/helm" }, coldSeconds: 70 },
  { name: "flux", binaries: { "flux-engine": "." }, coldSeconds: 130 },
  { name: "argocd", binaries: { "argocd-engine": "." }, coldSeconds: 240 },
];
