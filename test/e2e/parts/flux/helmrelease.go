package main

import (
	"context"

	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// recordRelease writes a release's manifest into its HelmRelease's status, as helm-controller v1.6.3 does in
// internal/inventory/inventory.go, and calls it ready.
func recordRelease(ctx context.Context, r request) (any, error) {
	c, err := newClient(r.config, false)
	if err != nil {
		return nil, err
	}
	release, err := get(ctx, c, helmReleaseKind, r)
	if err != nil {
		return nil, err
	}
	if err := setNamespaces(c, r); err != nil {
		return nil, err
	}
	inventory := []entry{}
	for _, o := range r.manifests {
		if _, isHook := o.GetAnnotations()["helm.sh/hook"]; !isHook {
			inventory = append(inventory, entryOf(o))
		}
	}
	return inventory, setReady(ctx, c, release, "True", "UpgradeSucceeded", "Helm upgrade succeeded", inventory)
}

// difference is how one object on the cluster differs from a release's manifest.
type difference struct {
	Object string            `json:"object"`
	Type   jsondiff.DiffType `json:"type"`
	Paths  []string          `json:"paths"`
}

// detectDrift follows helm-controller v1.6.3, internal/action/diff.go: a server-side dry run of each object of the manifest.
func detectDrift(ctx context.Context, r request) (any, error) {
	c, err := newClient(r.config, true)
	if err != nil {
		return nil, err
	}
	if err := normalize.UnstructuredListWithScheme(r.manifests, c.Scheme()); err != nil {
		return nil, err
	}
	if err := setNamespaces(c, r); err != nil {
		return nil, err
	}
	for _, o := range r.manifests {
		setHelmMetadata(o, r)
	}
	set, err := jsondiff.UnstructuredList(ctx, c, r.manifests,
		jsondiff.FieldOwner("helm-controller"),
		jsondiff.ExclusionSelector{"helm.toolkit.fluxcd.io/driftDetection": "disabled"},
		jsondiff.Rationalize(true),
		jsondiff.Graceful(true))
	if err != nil {
		return nil, err
	}
	differences := []difference{}
	for _, diff := range set {
		paths := []string{}
		for _, operation := range diff.Patch {
			paths = append(paths, operation.Type+" "+operation.Path)
		}
		name := diff.GroupVersionKind().Kind + "/" + diff.GetName()
		differences = append(differences, difference{name, diff.Type, paths})
	}
	return differences, nil
}

func setNamespaces(c client.Client, r request) error {
	for _, o := range r.manifests {
		if o.GetNamespace() != "" {
			continue
		}
		namespaced, err := apiutil.IsObjectNamespaced(o, c.Scheme(), c.RESTMapper())
		if err != nil {
			return err
		}
		if namespaced {
			o.SetNamespace(r.namespace)
		}
	}
	return nil
}

// setHelmMetadata sets what Helm itself adds to each object of a release.
func setHelmMetadata(o *unstructured.Unstructured, r request) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = r.name
	annotations["meta.helm.sh/release-namespace"] = r.namespace
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
}
