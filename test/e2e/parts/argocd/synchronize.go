package main

import (
	"context"
	"fmt"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const stepInterval = 500 * time.Millisecond

// operation is what became of a sync: its phase is Running where it stood still for too long.
type operation struct {
	Phase      common.OperationPhase `json:"phase"`
	Message    string                `json:"message"`
	Results    []resourceResult      `json:"results"`
	Comparison *comparison           `json:"comparison"`

	startedAt metav1.Time
	results   []common.ResourceSyncResult
}

type resourceResult struct {
	Kind    string            `json:"kind"`
	Name    string            `json:"name"`
	Status  common.ResultCode `json:"status"`
	Message string            `json:"message"`
}

// synchronize repeats controller/sync.go, SyncAppState, each time from the live state as it then is, until the operation ends
// or nothing has moved for as long as our patience lasts, however slow the machine is otherwise.
func synchronize(ctx context.Context, a *application) (any, error) {
	o := &operation{Phase: common.OperationRunning, startedAt: metav1.Now()}
	last, moved := "", time.Now()
	for {
		if err := a.step(o); err != nil {
			return nil, err
		}
		if err := a.writeStatus(ctx, nil, o); err != nil {
			return nil, err
		}
		if o.Phase.Completed() {
			break
		}
		if now := fmt.Sprint(o.Message, o.results); now != last {
			last, moved = now, time.Now()
		} else if time.Since(moved) > a.patience {
			return o.told(), nil
		}
		time.Sleep(stepInterval)
	}
	// The controller compares again once the operation is over and its writes have come back to its cache.
	time.Sleep(stepInterval)
	var err error
	if o.Comparison, err = a.compare(); err != nil {
		return nil, err
	}
	return o.told(), a.writeStatus(ctx, o.Comparison, o)
}

func (a *application) step(o *operation) error {
	compared, err := a.compare()
	if err != nil {
		return err
	}
	foreground := metav1.DeletePropagationForeground
	engine, cleanup, err := sync.NewSyncContext("", compared.result, a.config, a.config, a.kubectl, a.namespace,
		sync.WithLogr(logr.Discard()),
		sync.WithOperationSettings(false, true, false, false),
		sync.WithInitialState(o.Phase, o.Message, o.results, o.startedAt),
		sync.WithResourcesFilter(func(_ kube.ResourceKey, target *unstructured.Unstructured, live *unstructured.Unstructured) bool {
			return isSelfReferenced(live, target)
		}),
		sync.WithSyncWaveHook(delayBetweenSyncWaves),
		sync.WithPruneLast(a.pruneLast),
		sync.WithPrunePropagationPolicy(&foreground),
		sync.WithServerSideApply(a.serverSide),
		sync.WithServerSideApplyManager(manager))
	if err != nil {
		return err
	}
	defer cleanup()
	engine.Sync()
	o.Phase, o.Message, o.results = engine.GetState()
	return nil
}

func delayBetweenSyncWaves(_ common.SyncPhase, _ int, isLast bool) error {
	if !isLast {
		time.Sleep(2 * time.Second)
	}
	return nil
}

func (o *operation) told() *operation {
	o.Results = []resourceResult{}
	for _, r := range o.results {
		o.Results = append(o.Results, resourceResult{r.ResourceKey.Kind, r.ResourceKey.Name, r.Status, r.Message})
	}
	return o
}
