"""EphemeralVolumeClaim: a claim of the same name, whose labels follow those of the object."""


def reconcile(request):
    metadata = request["object"]["metadata"]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": metadata["name"], "labels": metadata.get("labels", {})},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": request["object"]["spec"]["size"]}},
        },
    }
    observed = next(iter(request["children"]), {})
    return {
        "children": [claim],
        "status": {"claim": metadata["name"], "phase": observed.get("status", {}).get("phase", "Pending")},
    }
