"""Queue: a ConfigMap with the settings of a queue. The handler sees one version, whichever the author wrote."""


def reconcile(request):
    queue = request["object"]
    spec = queue["spec"]
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": queue["metadata"]["name"]},
        "data": {"version": queue["apiVersion"], "messages": str(spec["messages"]), "hours": str(spec["hours"])},
    }
    return {"children": [settings]}
