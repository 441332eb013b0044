"""Carries out a comment such as "/deploy stage": the Environment of that name gets the pull request."""

import re

import kubernetes


def reconcile(request):
    command, namespace = request["object"]["spec"], request["object"]["metadata"]["namespace"]
    named = re.fullmatch(r"/deploy ([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)", command["text"].strip())
    if not named:
        return answer("False", "NoCommand", "the comment is no command")
    environment = named[1]
    if request.get("dryRun"):
        return answer("True", "Tried", f"would deploy to {environment}", environment)
    path = f"/apis/deploys.example.com/v1/namespaces/{namespace}/environments/{environment}"
    found = kubernetes.call("GET", path)
    if found is None:
        return answer("False", "NoEnvironment", f"there is no Environment {environment}")
    if found["spec"]["repository"] != command["repository"]:
        return answer("False", "OtherRepository", f"{environment} is for {found['spec']['repository']}")
    wanted = {field: command[field] for field in ("pullRequest", "author", "at")}
    before = found["spec"].get("deploy")
    if before and before != wanted and before["at"] >= wanted["at"]:
        # Comments come late and out of order. A newer one has decided already.
        return answer("False", "Superseded", f"pull request {before['pullRequest']} was deployed later", environment)
    if before != wanted:
        # With its resourceVersion, so that of two commands at once the second one looks again.
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        kubernetes.call("PATCH", path, {"metadata": version, "spec": {"deploy": wanted}})
    return answer("True", "Deployed", f"pull request {command['pullRequest']} is for {environment}", environment)


def answer(status, reason, message, environment=None):
    accepted = {"type": "Accepted", "status": status, "reason": reason, "message": message}
    return {"children": [], "conditions": [accepted], "status": {"environment": environment} if environment else {}}
