def reconcile(request):
    release = request["object"]
    spec = release["spec"]
    note = {"repository": spec["repository"], "version": spec["version"], "notes": spec.get("notes", "")}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": release["metadata"]["name"]},
        "data": note,
    }
    return {"children": [config_map]}
