"""A PodDisruptionBudget for each Deployment with the label: a drained node takes one pod at a time."""


def reconcile(request):
    deployment = request["object"]
    if deployment["spec"].get("replicas", 1) < 2:
        # A budget for a single pod lets no node be drained. A child that is not returned is deleted.
        return {"children": []}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": deployment["metadata"]["name"]},
        "spec": {"maxUnavailable": 1, "selector": deployment["spec"]["selector"]},
    }
    return {"children": [budget]}
