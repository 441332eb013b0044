"""Says in a ConfigMap what is deployed in an environment, and reports on it each night."""

import github


def reconcile(request):
    environment = request["object"]
    metadata, spec = environment["metadata"], environment["spec"]
    deploy = spec.get("deploy")
    reported_at = environment.get("status", {}).get("reportedAt")
    for due in request["due"]:
        if "reportIssue" in spec and not request.get("dryRun"):
            github.comment_once(
                spec["repository"],
                spec["reportIssue"],
                # The schedule's name and time are the key of this report.
                f"deploy-notifier: {metadata['namespace']}/{metadata['name']} {due['name']} {due['at']}",
                report(metadata["name"], deploy),
            )
        reported_at = due["at"]
    data = {"pullRequest": str(deploy["pullRequest"]), "author": deploy["author"]} if deploy else {}
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": metadata["name"]}, "data": data}
    return {"children": [child], "status": {"reportedAt": reported_at} if reported_at else {}}


def report(name, deploy):
    if not deploy:
        return f"Nothing is deployed in **{name}**."
    return f"#{deploy['pullRequest']} is deployed in **{name}**, by {deploy['author']} since {deploy['at']}."
