"""Worker: a Deployment whose pods are replaced when the Secret changes that the object names."""
import hashlib


def reconcile(request):
    worker, secret = request["object"], request["used"]["credentials"]
    name, spec = worker["metadata"]["name"], worker["spec"]
    if secret is None or "token" not in secret.get("data", {}):
        return {"error": {"message": f"there is no Secret {spec['credentialsSecret']} with a token to use"}}
    # The pods read the Secret themselves. A change of it changes their template.
    digest = hashlib.sha256(secret["data"]["token"].encode()).hexdigest()[:16]
    labels = {"app.kubernetes.io/name": "worker", "app.kubernetes.io/instance": name}
    token = {"secretKeyRef": {"name": spec["credentialsSecret"], "key": "token"}}
    container = {"name": "worker", "image": spec["image"], "env": [{"name": "TOKEN", "valueFrom": token}]}
    metadata = {"labels": labels, "annotations": {"jobs.example.com/token": digest}}
    return {
        "children": [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": metadata, "spec": {"containers": [container]}},
                },
            }
        ]
    }
