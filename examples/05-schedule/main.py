"""Backup: a Job for each night, of which the last ones are kept."""


def reconcile(request):
    name = request["object"]["metadata"]["name"]
    spec = request["object"]["spec"]
    due = [job_name(name, act["at"]) for act in request["due"]]
    there = [child["metadata"]["name"] for child in request["children"]]
    # A Job that is not returned is deleted, so the existing ones are returned too. Their names sort by time.
    kept = sorted({*there, *due})[-spec["keep"] :]
    events = [{"type": "Normal", "reason": "BackupStarted", "note": f"as Job {job}"} for job in due]
    status = {"last": kept[-1]} if kept else {}
    return {"children": [job(each, spec) for each in kept], "status": status, "events": events}


def job_name(name, at):
    """The same for the same night, however often it is asked: "sales-20260131t0200"."""
    return f"{name}-{at[:16].replace('-', '').replace(':', '').lower()}"


def job(name, spec):
    container = {"name": "backup", "image": spec["image"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 2, "template": {"spec": pod}},
    }
