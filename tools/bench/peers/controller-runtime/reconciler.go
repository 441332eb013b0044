package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type memcachedReconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *memcachedReconciler) setUp(manager ctrl.Manager, workers int) error {
	// Only the owner's spec matters: without the predicate each of our own status writes would reconcile again.
	specChanged := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(manager).
		For(&Memcached{}, specChanged).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func (r *memcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var memcached Memcached
	if err := r.Get(ctx, request.NamespacedName, &memcached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !memcached.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	meta := metav1.ObjectMeta{Name: memcached.Name, Namespace: memcached.Namespace}
	deployment := &appsv1.Deployment{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		setDeployment(deployment, &memcached)
		return controllerutil.SetControllerReference(&memcached, deployment, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}

	service := &corev1.Service{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		setService(service, &memcached)
		return controllerutil.SetControllerReference(&memcached, service, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}

	return ctrl.Result{}, client.IgnoreNotFound(r.updateStatus(ctx, &memcached, deployment))
}

func (r *memcachedReconciler) updateStatus(
	ctx context.Context, memcached *Memcached, deployment *appsv1.Deployment,
) error {
	status := memcachedStatus{
		ReadyReplicas:      deployment.Status.ReadyReplicas,
		ObservedGeneration: memcached.Generation,
	}
	if memcached.Status == status {
		return nil
	}
	before := memcached.DeepCopyObject().(*Memcached)
	memcached.Status = status
	return r.Status().Patch(ctx, memcached, client.MergeFrom(before))
}
