package main

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

type fields = map[string]any

// writeStatus writes what is known into the Application's status (pkg/apis/application/v1alpha1/types.go).
func (a *application) writeStatus(ctx context.Context, compared *comparison, o *operation) error {
	resource := a.client.Resource(applications).Namespace(a.home)
	status := fields{}
	if o != nil {
		state := fields{"phase": o.Phase, "message": o.Message, "startedAt": o.startedAt, "operation": fields{"sync": fields{"prune": true}}}
		if o.Phase.Completed() {
			state["finishedAt"] = metav1.Now()
		}
		status["operationState"] = state
	}
	if compared != nil {
		app, err := resource.Get(ctx, a.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		spec, _ := app.Object["spec"].(fields)
		status["sync"] = fields{
			"status":     compared.Sync,
			"comparedTo": fields{"source": spec["source"], "destination": spec["destination"]},
		}
		status["resources"] = compared.Resources
		status["reconciledAt"] = time.Now().UTC().Format(time.RFC3339)
	}
	patch, err := json.Marshal(fields{"status": status})
	if err != nil {
		return err
	}
	// The controller patches the object itself: the kind has no status subresource.
	_, err = resource.Patch(ctx, a.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}
