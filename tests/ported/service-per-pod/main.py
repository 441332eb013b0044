"""A Service for each pod of a StatefulSet, with the ports that an annotation names: "80:8080,443:8443"."""


def reconcile(request):
    stateful_set = request["object"]
    metadata = stateful_set["metadata"]
    try:
        ports = ports_of(metadata.get("annotations", {}).get("example.com/ports", "80:8080"))
    except ValueError as error:
        return {"error": {"message": f"example.com/ports: {error}", "permanent": True}}
    count = stateful_set["spec"].get("replicas", 1)
    return {"children": [service(f"{metadata['name']}-{index}", ports) for index in range(count)]}


def ports_of(text):
    pairs = [each.split(":") for each in text.split(",")]
    return [{"name": f"port-{port}", "port": int(port), "targetPort": int(target)} for port, target in pairs]


def service(pod, ports):
    spec = {"selector": {"statefulset.kubernetes.io/pod-name": pod}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": pod}, "spec": spec}
