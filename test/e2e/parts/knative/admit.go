package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/eventing/pkg/apis/config"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/apis/feature"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/webhook/resourcesemantics"
)

// kinds are those of the webhook that our manifests have.
var kinds = map[string]func() resourcesemantics.GenericCRD{
	"eventing.knative.dev/v1/Broker":         func() resourcesemantics.GenericCRD { return &eventingv1.Broker{} },
	"eventing.knative.dev/v1/Trigger":        func() resourcesemantics.GenericCRD { return &eventingv1.Trigger{} },
	"sources.knative.dev/v1/ApiServerSource": func() resourcesemantics.GenericCRD { return &sourcesv1.ApiServerSource{} },
	"sources.knative.dev/v1/PingSource":      func() resourcesemantics.GenericCRD { return &sourcesv1.PingSource{} },
}

// brokerDefaults are those of Knative's own ConfigMap config-br-defaults.
const brokerDefaults = `
clusterDefault:
  brokerClass: MTChannelBasedBroker
  apiVersion: v1
  kind: ConfigMap
  name: config-br-default-channel
  namespace: knative-eventing
  delivery:
    retry: 10
    backoffPolicy: exponential
    backoffDelay: PT0.2S
`

func admission() context.Context {
	ctx := logging.WithLogger(context.Background(), logging.FromContext(context.Background()))
	store := config.NewStore(logging.FromContext(ctx))
	store.OnConfigChanged(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: config.DefaultsConfigName, Namespace: "knative-eventing"},
		Data:       map[string]string{"default-br-config": brokerDefaults},
	})
	features := feature.NewStore(logging.FromContext(ctx))
	features.OnConfigChanged(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: feature.FlagsConfigName, Namespace: "knative-eventing"},
	})
	return apis.WithinCreate(features.ToContext(store.ToContext(ctx)))
}

func admit(ctx context.Context, raw json.RawMessage) (any, error) {
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &named); err != nil {
		return nil, err
	}
	make := kinds[named.APIVersion+"/"+named.Kind]
	if make == nil {
		return raw, nil
	}
	object := make()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(object); err != nil {
		return nil, fmt.Errorf("%s %s: %w", named.Kind, named.Name, err)
	}
	object.SetDefaults(ctx)
	if err := object.Validate(ctx); err != nil {
		return nil, fmt.Errorf("%s %s: %w", named.Kind, named.Name, err)
	}
	return object, nil
}

// admitAll reads a JSON array of objects and writes it with the defaults of Knative's kinds filled in. It ends with the first
// object that Knative's webhook would refuse.
func admitAll(from io.Reader, to io.Writer) error {
	var objects []json.RawMessage
	if err := json.NewDecoder(from).Decode(&objects); err != nil {
		return err
	}
	ctx := admission()
	admitted := make([]any, 0, len(objects))
	for _, raw := range objects {
		object, err := admit(ctx, raw)
		if err != nil {
			return err
		}
		admitted = append(admitted, object)
	}
	return json.NewEncoder(to).Encode(admitted)
}
