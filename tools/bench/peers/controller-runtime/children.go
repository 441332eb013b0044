package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const port = 11211

// The content is that of handlers/memcached/main.py. Fields are set one by one, so that those which the API server
// has defaulted stay, and an unchanged object is not written again.

func setDeployment(deployment *appsv1.Deployment, memcached *Memcached) {
	labels := labelsOf(memcached)
	deployment.Labels = labels
	deployment.Spec.Replicas = ptr.To(memcached.Spec.Size)
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}

	template := &deployment.Spec.Template
	template.Labels = labels
	template.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		RunAsUser:      ptr.To(int64(port)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if len(template.Spec.Containers) != 1 {
		template.Spec.Containers = make([]corev1.Container, 1)
	}
	setContainer(&template.Spec.Containers[0])
}

func setContainer(container *corev1.Container) {
	container.Name = "memcached"
	container.Image = "memcached:1.6.39-alpine"
	container.Ports = []corev1.ContainerPort{{ContainerPort: port, Protocol: corev1.ProtocolTCP}}
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("96Mi"),
	}
	container.Resources = corev1.ResourceRequirements{Requests: resources, Limits: resources}
	container.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func setService(service *corev1.Service, memcached *Memcached) {
	labels := labelsOf(memcached)
	service.Labels = labels
	service.Spec.Selector = labels
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.Ports = []corev1.ServicePort{{
		Port:       port,
		TargetPort: intstr.FromInt32(port),
		Protocol:   corev1.ProtocolTCP,
	}}
}

func labelsOf(memcached *Memcached) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":     "memcached",
		"app.kubernetes.io/instance": memcached.Name,
	}
}
