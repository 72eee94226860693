// Command flux-engine does one reconciliation with Flux's own apply engine, github.com/fluxcd/pkg/ssa, as kustomize-controller v1.9.4
// and helm-controller v1.6.3 do it. It reads manifests from standard input and prints what it did or saw as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// request is what the command line says of the object under which Flux works.
type request struct {
	config    *rest.Config
	namespace string
	name      string
	manifests []*unstructured.Unstructured
}

type command func(context.Context, request) (any, error)

var commands = map[string]command{
	"kustomization": reconcileKustomization,
	"helmrelease":   recordRelease,
	"drift":         detectDrift,
}

func run(arguments []string) error {
	if len(arguments) == 0 || commands[arguments[0]] == nil {
		return errors.New("usage: flux-engine kustomization|helmrelease|drift --kubeconfig FILE --namespace NAMESPACE --name NAME < MANIFESTS")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "path of a kubeconfig")
	namespace := flags.String("namespace", "", "namespace of the Kustomization or HelmRelease")
	name := flags.String("name", "", "its name")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	manifests, err := ssautil.ReadObjects(os.Stdin)
	if err != nil {
		return err
	}
	result, err := commands[arguments[0]](context.Background(), request{config, *namespace, *name, manifests})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func newClient(config *rest.Config, dryRun bool) (client.Client, error) {
	return client.New(config, client.Options{DryRun: &dryRun})
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flux-engine:", err)
		os.Exit(1)
	}
}
