"""A ConfigMap for each Greeting."""


def reconcile(request):
    name = request["object"]["metadata"]["name"]
    text = request["object"]["spec"]["text"]
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
    return {"children": [config_map]}
