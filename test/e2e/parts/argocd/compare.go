package main

import (
	"context"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/resource"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	synced    = "Synced"
	outOfSync = "OutOfSync"
)

// resourceStatus is an entry of an Application's .status.resources.
type resourceStatus struct {
	Group           string `json:"group,omitempty"`
	Version         string `json:"version,omitempty"`
	Kind            string `json:"kind,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	Status          string `json:"status,omitempty"`
	RequiresPruning bool   `json:"requiresPruning,omitempty"`
}

type comparison struct {
	Sync      string           `json:"sync"`
	Resources []resourceStatus `json:"resources"`

	result sync.ReconciliationResult
}

func (a *application) liveObjects(targets []*unstructured.Unstructured) (map[kube.ResourceKey]*unstructured.Unstructured, error) {
	return a.cluster.GetManagedLiveObjs(targets, func(r *cache.Resource) bool { return r.Info == a.name })
}

// compare follows controller/state.go, CompareAppState.
func (a *application) compare() (*comparison, error) {
	live, err := a.liveObjects(a.targets)
	if err != nil {
		return nil, err
	}
	result := sync.Reconcile(copied(a.targets), live, a.namespace, a.cluster)
	diffs, err := diff.DiffArray(result.Target, result.Live,
		diff.WithLogr(logr.Discard()),
		diff.WithStructuredMergeDiff(a.serverSide),
		diff.WithGVKParser(a.cluster.GetGVKParser()),
		diff.WithManager(manager))
	if err != nil {
		return nil, err
	}
	compared := &comparison{Sync: synced, Resources: []resourceStatus{}, result: result}
	for i, target := range result.Target {
		live := result.Live[i]
		isOwn := isSelfReferenced(live, target)
		o := live
		if o == nil {
			o = target
		}
		kind := o.GroupVersionKind()
		state := resourceStatus{kind.Group, kind.Version, kind.Kind, o.GetNamespace(), o.GetName(), "", target == nil && live != nil && isOwn}
		switch {
		case !isOwn:
			// It has no status and does not count.
		case diffs.Diffs[i].Modified || target == nil || live == nil:
			state.Status = outOfSync
			needsPruning := target == nil && live != nil
			if !needsPruning || !resource.HasAnnotationOption(o, "argocd.argoproj.io/compare-options", "IgnoreExtraneous") {
				compared.Sync = outOfSync
			}
		default:
			state.Status = synced
		}
		compared.Resources = append(compared.Resources, state)
	}
	return compared, nil
}

func copied(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	copies := []*unstructured.Unstructured{}
	for _, o := range objects {
		copies = append(copies, o.DeepCopy())
	}
	return copies
}

// refresh compares and writes down what it saw, as the controller does after each change that it notices.
func refresh(ctx context.Context, a *application) (any, error) {
	compared, err := a.compare()
	if err != nil {
		return nil, err
	}
	return compared, a.writeStatus(ctx, compared, nil)
}
