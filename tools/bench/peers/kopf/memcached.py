"""A Memcached operator on Kopf, as its documentation shows one: a peer of Argosy's benchmark.

Handlers are asynchronous and share Kopf's own HTTP session, so that neither threads nor a second client library
cost time or memory. The content of the children is that of handlers/memcached/main.py.
"""

from typing import Any

import aiohttp
import kopf

API_VERSION = "cache.example.com/v1alpha1"
PORT = 11211
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


@kopf.on.login()
async def login(memo: kopf.Memo, **kwargs: Any) -> kopf.AiohttpSession:
    """Opens the one HTTP session that Kopf and the handlers use."""
    info = kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
    if info is None:
        raise kopf.LoginError("set KUBECONFIG, or run in a pod")
    memo.session = aiohttp.ClientSession(
        info.server,
        connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
        headers=info.as_http_headers(),
    )
    return kopf.AiohttpSession(server=info.server, aiohttp_session=memo.session)


@kopf.on.resume(API_VERSION, "memcacheds")
@kopf.on.create(API_VERSION, "memcacheds")
@kopf.on.update(API_VERSION, "memcacheds", field="spec")
async def reconcile(
    name: str, namespace: str, spec: kopf.Spec, meta: kopf.Meta, memo: kopf.Memo, patch: kopf.Patch, **_: Any
) -> None:
    """Applies the Deployment and the Service of a Memcached."""
    children = [
        (f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment(name, spec["size"])),
        (f"/api/v1/namespaces/{namespace}/services", service(name)),
    ]
    kopf.adopt([child for _, child in children])
    for collection, child in children:
        await create_or_patch(memo.session, collection, child)
    patch.status["observedGeneration"] = meta["generation"]


@kopf.on.event("apps/v1", "deployments", labels={"app.kubernetes.io/name": "memcached"})
async def deployment_changed(
    type: str | None, meta: kopf.Meta, status: kopf.Status, memo: kopf.Memo, **_: Any
) -> None:
    """Copies a Deployment's ready replicas into its owner's status."""
    ready = status.get("readyReplicas", 0)
    # Without a type the event is from the list at start-up: what the owner's status says is not known then.
    if type is not None and memo.get("ready", 0) == ready:
        return
    memo.ready = ready
    for owner in meta.get("ownerReferences", []):
        if owner["apiVersion"] == API_VERSION:
            path = f"/apis/{API_VERSION}/namespaces/{meta['namespace']}/memcacheds/{owner['name']}/status"
            body = {"status": {"readyReplicas": ready}}
            async with memo.session.patch(path, json=body, headers=MERGE_PATCH) as response:
                # Gone while its Deployment is collected: there is no status to keep.
                if response.status != 404:
                    response.raise_for_status()


async def create_or_patch(session: aiohttp.ClientSession, collection: str, child: dict[str, Any]) -> None:
    """Creates an object, or merges into the existing one."""
    async with session.post(collection, json=child) as response:
        if response.status != 409:
            response.raise_for_status()
            return
    path = f"{collection}/{child['metadata']['name']}"
    async with session.patch(path, json=child, headers=MERGE_PATCH) as response:
        response.raise_for_status()


def deployment(name: str, size: int) -> dict[str, Any]:
    """The Deployment of a Memcached."""
    security = {"runAsNonRoot": True, "runAsUser": PORT, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels(name)},
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": labels(name)},
            "template": {
                "metadata": {"labels": labels(name)},
                "spec": {"securityContext": security, "containers": [container()]},
            },
        },
    }


def container() -> dict[str, Any]:
    """The one container of the Deployment's pods."""
    resources = {"cpu": "100m", "memory": "96Mi"}
    return {
        "name": "memcached",
        "image": "memcached:1.6.39-alpine",
        "ports": [{"containerPort": PORT}],
        "resources": {"requests": resources, "limits": resources},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def service(name: str) -> dict[str, Any]:
    """The headless Service of a Memcached."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels(name)},
        "spec": {"clusterIP": "None", "selector": labels(name), "ports": [{"port": PORT}]},
    }


def labels(name: str) -> dict[str, str]:
    """The labels by which a Memcached's children are found."""
    return {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": name}
