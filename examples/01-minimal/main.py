"""Greeting: a ConfigMap for each custom resource."""


def reconcile(request):
    greeting = request["object"]
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": greeting["metadata"]["name"]},
        "data": {"text": f"Hello, {greeting['spec']['to']}!"},
    }
    return {"children": [config_map]}
