"""Requests to the Kubernetes API with the token of the handler's own account."""

import json
import os
import ssl
import urllib.error
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def call(method, path, patch=None):
    """The answer, or None if there is no such object. With a merge patch if there is one."""
    with open(f"{ACCOUNT}/token", encoding="utf-8") as file:
        token = file.read()
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    request = urllib.request.Request(
        f"https://{f'[{host}]' if ':' in host else host}:{port}{path}",
        method=method,
        data=None if patch is None else json.dumps(patch).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"},
    )
    trust = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
    try:
        with urllib.request.urlopen(request, timeout=10, context=trust) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise RuntimeError(f"{method} {path}: {json.load(error).get('message')}") from None
