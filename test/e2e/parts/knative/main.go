// Command eventing stands in for the deployments of Knative eventing that are no data plane: `eventing controllers` runs its own
// reconcilers for what a Broker of class MTChannelBasedBroker and an ApiServerSource need, without webhooks, and `eventing admit`
// does once what its webhook does: it sets the defaults of the objects on standard input, validates them and prints them.
package main

import (
	"fmt"
	"os"
)

func main() {
	subcommand := ""
	if len(os.Args) > 1 {
		subcommand = os.Args[1]
		// What is left belongs to sharedmain, which reads the program's flags.
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	switch subcommand {
	case "controllers":
		runControllers()
	case "admit":
		if err := admitAll(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "eventing:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: eventing controllers [-kubeconfig FILE] | eventing admit < OBJECTS")
		os.Exit(2)
	}
}
