"""A small SQL database: SQLite behind HTTP, migrated by a Job before its pod changes, and copied each night."""

import hashlib
import json
import pathlib

IMAGE = "python:3.13-slim"
HERE = pathlib.Path(__file__).parent


def reconcile(request):
    database, secret = request["object"], request["used"]["credentials"]
    name, spec = database["metadata"]["name"], database["spec"]
    if secret is None or "password" not in secret.get("data", {}):
        # An answer without children would delete them. An error leaves all as it is, and the Secret's arrival wakes us.
        wanted = f"a Secret {spec['credentialsSecret']} with a key password and the label argosy.dev/used-by"
        return {"error": {"message": f"there must be {wanted}"}}
    last_backup = database.get("status", {}).get("lastBackup")
    for due in request["due"]:
        last_backup = due["at"]
    migrate = job(f"{name}-migrate-{digest(spec['migrations'])}", name, ["migrate"])
    children = [
        programs(name, spec["migrations"]),
        volume(name, spec["storage"]),
        migrate,
        server(name, secret, after=f"Job/{migrate['metadata']['name']}"),
        service(name),
    ]
    if last_backup:
        # Returned until the next one, so that it is not deleted while it runs.
        night = last_backup[:10]
        children.append(job(f"{name}-backup-{night}", name, ["backup", f"{night}.sqlite"]))
    return {"children": children, "status": {"lastBackup": last_backup} if last_backup else {}}


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def labels(name):
    return {"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": name}


def programs(name, migrations):
    data = {"sqlite.py": (HERE / "sqlite.py").read_text(), "migrations.json": json.dumps(migrations)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def volume(name, storage):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name, arguments, **container):
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    resources = {"cpu": "50m", "memory": "64Mi"}
    mounts = [{"name": "programs", "mountPath": "/programs"}, {"name": "data", "mountPath": "/data"}]
    return {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "database",
                "image": IMAGE,
                "command": ["python3", "/programs/sqlite.py", *arguments],
                "volumeMounts": mounts,
                "resources": {"requests": resources, "limits": resources},
                "securityContext": security,
                **container,
            }
        ],
        "volumes": [
            {"name": "programs", "configMap": {"name": name}},
            {"name": "data", "persistentVolumeClaim": {"claimName": name}},
        ],
    }


def job(job_name, name, arguments):
    # With "once" it does not come back when its time to live has removed it, and takes nothing along.
    metadata = {"name": job_name, "annotations": {"argosy.dev/once": "true"}}
    template = {"spec": {"restartPolicy": "OnFailure", **pod(name, arguments)}}
    spec = {"backoffLimit": 6, "ttlSecondsAfterFinished": 86400, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def server(name, secret, after):
    password = {"secretKeyRef": {"name": secret["metadata"]["name"], "key": "password"}}
    # The pods roll when the Secret changes.
    annotations = {"data.example.com/credentials": digest(secret["data"])}
    template = {
        "metadata": {"labels": labels(name), "annotations": annotations},
        "spec": pod(
            name,
            ["serve"],
            env=[{"name": "PASSWORD", "valueFrom": password}],
            ports=[{"containerPort": 8080}],
            readinessProbe={"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 2},
        ),
    }
    spec = {"serviceName": name, "replicas": 1, "selector": {"matchLabels": labels(name)}, "template": template}
    metadata = {"name": name, "annotations": {"argosy.dev/after": after}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def service(name):
    spec = {"selector": labels(name), "ports": [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
