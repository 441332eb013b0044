"""App: a Deployment that comes up, and is changed, only after the migration to its version is complete."""


def reconcile(request):
    name = request["object"]["metadata"]["name"]
    spec = request["object"]["spec"]
    image = f"{spec['image']}:{spec['version']}"
    # A name of its own for each version: the Deployment waits for the new Job, and the old one is deleted.
    migration = f"{name}-migrate-{spec['version']}"
    return {"children": [job(migration, image), deployment(name, image, spec["replicas"], f"Job/{migration}")]}


def job(name, image):
    container = {"name": "migrate", "image": image, "args": ["migrate"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        # Its time to live removes it a day after its end, and then it is not made again.
        "metadata": {"name": name, "annotations": {"argosy.dev/once": "true"}},
        "spec": {"ttlSecondsAfterFinished": 86400, "template": {"spec": pod}},
    }


def deployment(name, image, replicas, after):
    labels = {"app.kubernetes.io/name": "app", "app.kubernetes.io/instance": name}
    container = {"name": "app", "image": image, "args": ["serve"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "labels": labels, "annotations": {"argosy.dev/after": after}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
