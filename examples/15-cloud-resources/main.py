"""Bucket: a bucket in a cloud, which Pulumi's Kubernetes operator creates, changes and destroys."""

import os

# A constant. Pulumi evaluates ${...}, so nothing that the author of an object writes may be in it: that is in the stack's config.
EXPIRY = {"id": "expire", "enabled": True, "expiration": {"days": "${keepDays}"}}
PROGRAM = {
    "configuration": {"keepDays": {"type": "Number"}},
    "resources": {"bucket": {"type": "aws:s3:Bucket", "properties": {"lifecycleRules": [EXPIRY]}}},
    "outputs": {"bucket": "${bucket.bucket}", "address": "${bucket.bucketRegionalDomainName}"},
}
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PULUMI_CONFIG_PASSPHRASE")


def reconcile(request):
    metadata, spec = request["object"]["metadata"], request["object"]["spec"]
    name, pulumi = metadata["name"], {"apiVersion": "pulumi.com/v1"}
    program = pulumi | {"kind": "Program", "metadata": {"name": name}, "program": PROGRAM}
    after = {"argosy.dev/after": f"Program/{name}"}
    stack = pulumi | {
        "kind": "Stack",
        "metadata": {"name": name, "annotations": after},
        "spec": {
            "programRef": {"name": name},
            # The backend is shared by all namespaces. A namespace has no dot in its name.
            "stack": f"{metadata['namespace']}.{name}",
            "backend": os.environ["BACKEND"],
            "config": {"aws:region": spec["region"], "keepDays": str(spec["keepDays"])},
            "serviceAccountName": "pulumi",
            "envRefs": {key: {"type": "Secret", "secret": {"name": "cloud", "key": key}} for key in KEYS},
            "destroyOnFinalize": spec["whenDeleted"] == "Destroy",
        },
    }
    observed = next((child for child in request["children"] if child["kind"] == "Stack"), {})
    return {"children": [program, stack], "status": status_of(observed.get("status", {}))}


def status_of(stack):
    last, conditions = stack.get("lastUpdate", {}), stack.get("conditions", [])
    stalled = [each["message"] for each in conditions if (each["type"], each["status"]) == ("Stalled", "True")]
    status = {"update": last.get("state"), "message": "; ".join(stalled) or last.get("message")}
    return {key: value for key, value in (stack.get("outputs", {}) | status).items() if value}
