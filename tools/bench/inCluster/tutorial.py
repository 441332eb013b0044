"""One step of the tutorial's workflow: seven pods run it one after another, each for its part."""

import json
import os
import runpy
import ssl
import sys
import urllib.error
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
HANDLER = os.environ.get("HANDLER", "/handler/main.py")


def call(method, path, body, content_type="application/json"):
    with open(ACCOUNT + "token") as file:
        headers = {"Authorization": "Bearer " + file.read(), "Content-Type": content_type}
    url = "https://kubernetes.default.svc" + path
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    return urllib.request.urlopen(request, context=ssl.create_default_context(cafile=ACCOUNT + "ca.crt"))


def create_or_patch(collection, manifest):
    try:
        call("POST", collection, manifest)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        path = collection + "/" + manifest["metadata"]["name"]
        call("PATCH", path, manifest, "application/merge-patch+json")


def children(memcached):
    meta = memcached["metadata"]
    answer = runpy.run_path(HANDLER)["reconcile"](dict(object=memcached, children=[]))
    owner = dict(apiVersion=memcached["apiVersion"], kind=memcached["kind"], name=meta["name"], uid=meta["uid"],
                 controller=True, blockOwnerDeletion=True)
    for child in answer["children"]:
        child["metadata"]["ownerReferences"] = [owner]
        yield child["kind"], child


step, event, body = sys.argv[1:4]
memcached = json.loads(body)
namespace = memcached["metadata"]["namespace"]
if event == "DELETE":
    print("nothing to do: its children are deleted with it")
elif step == "check" and memcached["spec"]["size"] > 50:
    sys.exit("the size is more than 50")
elif step in ("deployment", "service"):
    print(json.dumps(dict(children(memcached))[step.capitalize()]))
elif step == "apply-service":
    create_or_patch("/api/v1/namespaces/" + namespace + "/services", dict(children(memcached))["Service"])
elif step == "apply-deployment":
    create_or_patch("/apis/apps/v1/namespaces/" + namespace + "/deployments", dict(children(memcached))["Deployment"])
    path = "/apis/" + memcached["apiVersion"] + "/namespaces/" + namespace + "/memcacheds/" + memcached["metadata"]["name"]
    status = dict(status=dict(observedGeneration=memcached["metadata"]["generation"]))
    call("PATCH", path + "/status", status, "application/merge-patch+json")
else:
    print(step, event, memcached["metadata"]["name"])
