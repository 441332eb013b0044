"""Team: a namespace with a quota, in which a group of users may edit."""

RBAC = "rbac.authorization.k8s.io"


def reconcile(request):
    team = request["object"]
    spec = team["spec"]
    namespace = f"team-{team['metadata']['name']}"
    # The object is cluster-scoped, so each child names its namespace.
    within = {"name": "team", "namespace": namespace}
    children = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": within,
            "spec": {"hard": {"pods": str(spec["pods"])}},
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": within,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": spec["group"]}],
        },
    ]
    return {"children": children, "status": {"namespace": namespace}}
