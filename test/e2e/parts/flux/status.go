package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	kustomizationKind = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	helmReleaseKind   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
)

// entry is one of status.inventory.entries; the same in both kinds.
type entry struct {
	ID      string `json:"id"`
	Version string `json:"v"`
}

func entryOf(o *unstructured.Unstructured) entry {
	return entry{object.UnstructuredToObjMetadata(o).String(), o.GroupVersionKind().Version}
}

func get(ctx context.Context, c client.Client, kind schema.GroupVersionKind, r request) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(kind)
	return found, c.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, found)
}

// entriesOf gives the inventory that an object's status holds.
func entriesOf(o *unstructured.Unstructured) []entry {
	items, _, _ := unstructured.NestedSlice(o.Object, "status", "inventory", "entries")
	entries := make([]entry, 0, len(items))
	for _, item := range items {
		fields, _ := item.(map[string]any)
		id, _ := fields["id"].(string)
		version, _ := fields["v"].(string)
		entries = append(entries, entry{id, version})
	}
	return entries
}

// setReady writes the Ready condition and, unless it is nil, the inventory. Both controllers call a generation observed only once
// they are ready for it.
func setReady(ctx context.Context, c client.Client, o *unstructured.Unstructured, status, reason, message string, inventory []entry) error {
	condition := map[string]any{
		"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": o.GetGeneration(),
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
	fields := map[string]any{"conditions": []any{condition}}
	if status == "True" {
		fields["observedGeneration"] = o.GetGeneration()
	}
	if inventory != nil {
		fields["inventory"] = map[string]any{"entries": inventory}
	}
	patch, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return err
	}
	return c.Status().Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
}
