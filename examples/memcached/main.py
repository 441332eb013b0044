"""Memcached: a Deployment and a headless Service for each custom resource."""


def reconcile(request):
    name = request["object"]["metadata"]["name"]
    size = request["object"]["spec"]["size"]
    if size > 50:
        return {"error": {"message": f"size {size} is more than 50", "permanent": True}}
    labels = {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": name}
    metadata = {"name": name, "labels": labels}
    children = [deployment(metadata, labels, size), service(metadata, labels)]
    observed = {child["kind"]: child for child in request["children"]}
    ready = observed.get("Deployment", {}).get("status", {}).get("readyReplicas", 0)
    return {"children": children, "status": {"readyReplicas": ready}}


def deployment(metadata, labels, size):
    resources = {"cpu": "100m", "memory": "96Mi"}
    container = {
        "name": "memcached",
        "image": "memcached:1.6.39-alpine",
        "ports": [{"containerPort": 11211}],
        "resources": {"requests": resources, "limits": resources},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 11211, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {"securityContext": security, "containers": [container]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": size, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def service(metadata, labels):
    spec = {"clusterIP": "None", "selector": labels, "ports": [{"port": 11211}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
