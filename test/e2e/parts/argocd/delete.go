package main

import (
	"context"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/resource"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/syncwaves"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deletion names what the deletion of an Application asked to go, and what still stood when the time was up.
type deletion struct {
	Deleted   []string `json:"deleted"`
	Remaining []string `json:"remaining"`
}

// deleteResources repeats controller/appcontroller.go, finalizeApplicationDeletion, until nothing is left or the time is up.
func deleteResources(ctx context.Context, a *application) (any, error) {
	asked := deletion{Deleted: []string{}, Remaining: []string{}}
	end := time.Now().Add(a.patience)
	for {
		live, err := a.liveObjects(nil)
		if err != nil {
			return nil, err
		}
		asked.Remaining = asked.Remaining[:0]
		due, isWaiting := []*unstructured.Unstructured{}, false
		for _, o := range live {
			if !isDeletedWithApplication(o) {
				continue
			}
			asked.Remaining = append(asked.Remaining, titleOf(o))
			due = append(due, o)
			isWaiting = isWaiting || o.GetDeletionTimestamp() != nil
		}
		if len(due) == 0 {
			return asked, nil
		}
		if !isWaiting {
			for _, o := range lastWave(due) {
				if err := a.deleteObject(ctx, o); err != nil {
					return nil, err
				}
				asked.Deleted = append(asked.Deleted, titleOf(o))
			}
		}
		if time.Now().After(end) {
			return asked, nil
		}
		time.Sleep(2 * stepInterval)
	}
}

// isDeletedWithApplication follows shouldBeDeleted: a Prune option says nothing here.
func isDeletedWithApplication(o *unstructured.Unstructured) bool {
	option := resource.GetAnnotationOptionValue(o, "argocd.argoproj.io/sync-options", "Delete")
	isKept := resource.HasAnnotationOption(o, "helm.sh/resource-policy", "keep")
	return (option == nil || *option != "false") && !isKept
}

// lastWave follows controller/sort_delete.go: the waves are deleted in reverse.
func lastWave(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	wave := syncwaves.Wave(objects[0])
	for _, o := range objects {
		wave = max(wave, syncwaves.Wave(o))
	}
	last := []*unstructured.Unstructured{}
	for _, o := range objects {
		if syncwaves.Wave(o) == wave {
			last = append(last, o)
		}
	}
	return last
}

func (a *application) deleteObject(ctx context.Context, o *unstructured.Unstructured) error {
	foreground := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &foreground}
	return a.kubectl.DeleteResource(ctx, a.config, o.GroupVersionKind(), o.GetName(), o.GetNamespace(), options)
}

func titleOf(o *unstructured.Unstructured) string {
	return o.GetKind() + "/" + o.GetName()
}
