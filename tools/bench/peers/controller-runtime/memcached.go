package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// memcachedSpec is what the user asks for.
type memcachedSpec struct {
	Size int32 `json:"size"`
}

// memcachedStatus is what the operator has seen.
type memcachedStatus struct {
	ReadyReplicas      int32 `json:"readyReplicas"`
	ObservedGeneration int64 `json:"observedGeneration"`
}

// Memcached is the custom resource memcacheds.cache.example.com.
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   memcachedSpec   `json:"spec"`
	Status memcachedStatus `json:"status,omitempty"`
}

// MemcachedList is a list of Memcacheds.
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Memcached `json:"items"`
}

// DeepCopyObject is what controller-gen would generate.
func (in *Memcached) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject is what controller-gen would generate.
func (in *MemcachedList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Memcached, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Memcached)
	}
	return &out
}

func addToScheme(target *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "cache.example.com", Version: "v1alpha1"}
	builder := &scheme.Builder{GroupVersion: version}
	return builder.Register(&Memcached{}, &MemcachedList{}).AddToScheme(target)
}
