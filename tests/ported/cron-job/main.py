"""CronJob: a Job when the schedule is due, and as many of the old ones as the limits say."""


def reconcile(request):
    cron_job, spec = request["object"], request["object"]["spec"]
    name = cron_job["metadata"]["name"]
    jobs = {child["metadata"]["name"]: child for child in request["children"]}
    last = cron_job.get("status", {}).get("lastScheduleTime")
    kept = set(limited(jobs, "Complete", spec.get("successfulJobsHistoryLimit", 3)))
    kept |= set(limited(jobs, "Failed", spec.get("failedJobsHistoryLimit", 1)))
    active = [each for each in jobs if state(jobs[each]) == "Active"]
    for due in request["due"]:
        last = due["at"]
        own = f"{name}-{''.join(each for each in due['at'] if each.isdigit())}"
        others = [each for each in active if each != own]
        if spec.get("suspend") or (others and spec["concurrencyPolicy"] == "Forbid"):
            continue
        if spec["concurrencyPolicy"] == "Replace":
            active = []
        active = sorted({*active, own})
    children = [job(each, spec["jobTemplate"]) for each in sorted({*kept, *active})]
    status = {"active": sorted(active)}
    return {"children": children, "status": {**status, "lastScheduleTime": last} if last else status}


def limited(jobs, ended, limit):
    names = sorted(each for each in jobs if state(jobs[each]) == ended)
    return names[len(names) - limit :] if limit < len(names) else names


def state(job):
    conditions = job.get("status", {}).get("conditions", [])
    ends = [each["type"] for each in conditions if each["status"] == "True" and each["type"] in ("Complete", "Failed")]
    return ends[0] if ends else "Active"


def job(name, template):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": template.get("spec", {})}
