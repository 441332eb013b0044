// A Memcached operator on controller-runtime, as its documentation shows one: a peer of Argosy's benchmark.
package main

import (
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	// controller-runtime registers --kubeconfig itself.
	qps := flag.Float64("qps", 0, "client requests per second; 0 leaves controller-runtime's default")
	burst := flag.Int("burst", 0, "client requests in a burst; 0 leaves controller-runtime's default")
	workers := flag.Int("workers", 32, "objects reconciled at once")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	if err := run(float32(*qps), *burst, *workers); err != nil {
		ctrl.Log.Error(err, "the operator cannot go on")
		os.Exit(1)
	}
}

func run(qps float32, burst, workers int) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if qps > 0 {
		config.QPS = qps
	}
	if burst > 0 {
		config.Burst = burst
	}

	scheme := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(addToScheme(scheme))

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return err
	}
	reconciler := &memcachedReconciler{Client: manager.GetClient(), scheme: scheme}
	if err := reconciler.setUp(manager, workers); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
