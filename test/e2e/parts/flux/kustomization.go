package main

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const controller = "kustomize-controller"

var group = kustomizationKind.Group

// applied is what one reconciliation did: object ID to the engine's word for it.
type applied struct {
	Applied map[string]ssa.Action `json:"applied"`
	Pruned  map[string]ssa.Action `json:"pruned"`
}

// reconcileKustomization follows kustomize-controller v1.9.4, internal/controller/kustomization_controller.go: reconcile, apply and
// prune, with the options it gives the engine.
func reconcileKustomization(ctx context.Context, r request) (any, error) {
	c, err := newClient(r.config, false)
	if err != nil {
		return nil, err
	}
	kustomization, err := get(ctx, c, kustomizationKind, r)
	if err != nil {
		return nil, err
	}
	former := entriesOf(kustomization)
	if err := setReady(ctx, c, kustomization, "Unknown", "Progressing", "Detecting drift", nil); err != nil {
		return nil, err
	}
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: controller, Group: group})
	manager.SetOwnerLabels(r.manifests, r.name, r.namespace)
	changes, err := apply(ctx, manager, r.manifests)
	if err != nil {
		_ = setReady(ctx, c, kustomization, "False", "ReconciliationFailed", err.Error(), nil)
		return nil, err
	}
	inventory := make([]entry, 0, len(changes.Entries))
	for _, change := range changes.Entries {
		inventory = append(inventory, entry{change.ObjMetadata.String(), change.GroupVersion})
	}
	pruned, err := prune(ctx, manager, kustomization, former, inventory)
	if err != nil {
		return nil, err
	}
	if err := setReady(ctx, c, kustomization, "True", "ReconciliationSucceeded", "Applied", inventory); err != nil {
		return nil, err
	}
	return applied{actions(changes), actions(pruned)}, nil
}

func apply(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) (*ssa.ChangeSet, error) {
	if err := normalize.UnstructuredList(objects); err != nil {
		return nil, err
	}
	options := ssa.DefaultApplyOptions()
	options.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	options.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	options.ForceSelector = map[string]string{group + "/force": "enabled"}
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation, group + "/checksum", "fluxcd.io/sync-checksum"},
		Labels:      []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: controller, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	return manager.ApplyAllStaged(ctx, objects, options)
}

// prune deletes what the former inventory has and the new one lacks, unless spec.prune is off.
func prune(ctx context.Context, manager *ssa.ResourceManager, kustomization *unstructured.Unstructured, former, inventory []entry) (*ssa.ChangeSet, error) {
	if wanted, _, _ := unstructured.NestedBool(kustomization.Object, "spec", "prune"); !wanted {
		return ssa.NewChangeSet(), nil
	}
	kept := map[string]bool{}
	for _, one := range inventory {
		kept[one.ID] = true
	}
	var stale []*unstructured.Unstructured
	for _, one := range former {
		if kept[one.ID] {
			continue
		}
		id, err := object.ParseObjMetadata(one.ID)
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(id.GroupKind.WithVersion(one.Version))
		o.SetNamespace(id.Namespace)
		o.SetName(id.Name)
		stale = append(stale, o)
	}
	return manager.DeleteAll(ctx, stale, ssa.DeleteOptions{
		PropagationPolicy: metav1.DeletePropagationBackground,
		Inclusions:        manager.GetOwnerLabels(kustomization.GetName(), kustomization.GetNamespace()),
		Exclusions:        map[string]string{group + "/prune": "disabled", group + "/reconcile": "disabled", group + "/ssa": "Ignore"},
	})
}

func actions(changes *ssa.ChangeSet) map[string]ssa.Action {
	said := map[string]ssa.Action{}
	for _, change := range changes.Entries {
		said[change.ObjMetadata.String()] = change.Action
	}
	return said
}
