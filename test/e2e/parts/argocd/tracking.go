package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const trackingAnnotation = "argocd.argoproj.io/tracking-id"

// track marks an object as an Application's (util/argo/resource_tracking.go, tracking method "annotation").
func track(o *unstructured.Unstructured, app string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[trackingAnnotation] = app + ":" + identity(o)
	o.SetAnnotations(annotations)
}

func identity(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	return fmt.Sprintf("%s/%s:%s/%s", kind.Group, kind.Kind, o.GetNamespace(), o.GetName())
}

func appOf(o *unstructured.Unstructured) string {
	app, _, _ := strings.Cut(o.GetAnnotations()[trackingAnnotation], ":")
	return app
}

// isSelfReferenced follows controller/state.go, isSelfReferencedObj: a live object with another's tracking id is a copy.
func isSelfReferenced(live, target *unstructured.Unstructured) bool {
	if live == nil || target != nil {
		return true
	}
	_, named, _ := strings.Cut(live.GetAnnotations()[trackingAnnotation], ":")
	return named == identity(live)
}
