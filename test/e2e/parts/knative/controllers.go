package main

import (
	"knative.dev/eventing/pkg/auth"
	"knative.dev/eventing/pkg/eventingtls"
	"knative.dev/eventing/pkg/reconciler/apiserversource"
	"knative.dev/eventing/pkg/reconciler/broker"
	trigger "knative.dev/eventing/pkg/reconciler/broker/trigger"
	"knative.dev/eventing/pkg/reconciler/eventpolicy"
	channel "knative.dev/eventing/pkg/reconciler/inmemorychannel/controller"
	"knative.dev/eventing/pkg/reconciler/subscription"
	filtered "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/signals"
)

// runControllers brings Brokers, Triggers, Subscriptions, InMemoryChannels and ApiServerSources to Ready until a signal comes, and
// the EventPolicies that a Broker makes for its channel where senders have identities.
func runControllers() {
	ctx := filtered.WithSelectors(signals.NewContext(), auth.OIDCLabelSelector, eventingtls.TrustBundleLabelSelector)
	// The probes would take port 8080, which is the channel dispatcher's here.
	ctx = sharedmain.WithHealthProbesDisabled(sharedmain.WithHADisabled(ctx))
	sharedmain.MainWithContext(ctx, "eventing-controllers",
		channel.NewController,
		subscription.NewController,
		broker.NewController,
		trigger.NewController,
		eventpolicy.NewController,
		apiserversource.NewController,
	)
}
