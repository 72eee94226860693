// Command argocd-engine does with an Application what Argo CD's application controller v3.5.1 does with it, on Argo CD's own sync
// engine. It reads the Application's manifests from standard input and prints what it did or saw as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const manager = "argocd-controller"

// application is an Application with the manifests that its source renders, and what is at hand to work on it.
type application struct {
	// home is the Application's own namespace, that of Argo CD; namespace is where its objects go.
	home, name, namespace string
	pruneLast, serverSide bool
	patience              time.Duration
	targets               []*unstructured.Unstructured
	config                *rest.Config
	client                dynamic.Interface
	kubectl               kube.Kubectl
	cluster               cache.ClusterCache
}

var commands = map[string]func(context.Context, *application) (any, error){
	"compare": refresh,
	"sync":    synchronize,
	"delete":  deleteResources,
}

func run(arguments []string) error {
	if len(arguments) == 0 || commands[arguments[0]] == nil {
		return errors.New("usage: argocd-engine compare|sync|delete --kubeconfig FILE --home NAMESPACE --app NAME --namespace NAMESPACE < MANIFESTS")
	}
	a := &application{}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "path of a kubeconfig")
	flags.DurationVar(&a.patience, "patience", time.Minute, "how long a deletion may take, and a sync may stand still")
	flags.StringVar(&a.home, "home", "argocd", "namespace of the Application")
	flags.StringVar(&a.name, "app", "", "its name")
	flags.StringVar(&a.namespace, "namespace", "", "namespace of its objects")
	flags.BoolVar(&a.pruneLast, "prune-last", false, "the sync option PruneLast=true")
	flags.BoolVar(&a.serverSide, "server-side", false, "the sync option ServerSideApply=true")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	if err := a.connect(*kubeconfig); err != nil {
		return err
	}
	defer a.cluster.Invalidate()
	if err := a.read(os.Stdin); err != nil {
		return err
	}
	result, err := commands[arguments[0]](context.Background(), a)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func (a *application) connect(kubeconfig string) (err error) {
	if a.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return err
	}
	a.config.QPS, a.config.Burst = 200, 400
	if a.client, err = dynamic.NewForConfig(a.config); err != nil {
		return err
	}
	a.kubectl = &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	a.cluster = cache.NewClusterCache(a.config,
		cache.SetLogr(logr.Discard()),
		cache.SetKubectl(a.kubectl),
		cache.SetNamespaces([]string{a.namespace}),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, isRoot bool) (any, bool) {
			return appOf(o), isRoot && appOf(o) != ""
		}),
	)
	return a.cluster.EnsureSynced()
}

// read takes in the manifests as they are targeted: with a namespace and a tracking id.
func (a *application) read(from io.Reader) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if a.targets, err = kube.SplitYAML(text); err != nil {
		return err
	}
	for _, o := range a.targets {
		o.SetNamespace(a.namespace)
		track(o, a.name)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "argocd-engine:", err)
		os.Exit(1)
	}
}
