"""Comments on each pull request that went live with a Deployment: once, and only when its pods are ready."""

import os
import re

import github

PREFIX = "deploy-notifier.example.com"


def reconcile(request):
    deployment = request["object"]
    live = request.get("state", {}).get("live")
    repository = annotation(deployment, "repository", r"[\w.-]+/[\w.-]+")
    commit = annotation(deployment, "commit", r"[0-9a-f]{7,40}")
    if not repository or not commit or commit == live or not is_live(deployment):
        return remember(live)
    if request.get("dryRun"):
        return remember(commit)
    try:
        numbers = pull_requests(repository, live, commit)
        announced = [number for number in numbers if announce(deployment, repository, number)]
    except github.Refused as refusal:
        # Nothing is remembered: the next try asks GitHub which comments exist.
        error = {"message": str(refusal)}
        return {"error": error if refusal.retry_after is None else {**error, "retryAfterSeconds": refusal.retry_after}}
    numbers = ", ".join(f"#{number}" for number in announced)
    note = f"commented on {numbers} of {repository}" if announced else f"no new pull request in {commit}"
    return {**remember(commit), "events": [{"type": "Normal", "reason": "Announced", "note": note}]}


def remember(live):
    return {"children": [], "state": {"live": live} if live else {}}


def annotation(deployment, name, pattern):
    value = deployment["metadata"].get("annotations", {}).get(f"{PREFIX}/{name}", "")
    return value if re.fullmatch(pattern, value) else None


def is_live(deployment):
    """Whether every pod is of the newest template and available, as `kubectl rollout status` judges it."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    counts = [status.get(field, 0) for field in ("replicas", "updatedReplicas", "availableReplicas")]
    return status.get("observedGeneration") == deployment["metadata"]["generation"] and counts == [wanted] * 3


def pull_requests(repository, live, commit):
    """The pull requests between what was live and what is live now, the oldest first."""
    commits = [commit]
    if live:
        try:
            comparison = f"/repos/{repository}/compare/{live}...{commit}?per_page=100"
            commits = [each["sha"] for each in github.pages(comparison, "commits")]
        except github.Refused as refusal:
            # After a force-push GitHub no longer knows what was live.
            if refusal.status != 404:
                raise
    numbers = [pull["number"] for sha in commits for pull in github.pages(f"/repos/{repository}/commits/{sha}/pulls")]
    return list(dict.fromkeys(numbers))


def announce(deployment, repository, number):
    environment = os.environ["ENVIRONMENT"]
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    # Without the Deployment's name: several of one repository make one comment.
    mark = f"deploy-notifier: {environment}"
    return github.comment_once(repository, number, mark, f"This is live in **{environment}**, as `{image}`.")
