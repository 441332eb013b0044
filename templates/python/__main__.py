"""The operators of the folder handlers, with Argo Events and Argo Workflows."""

import argosy_dev_argosy as argosy
import pulumi

operators = argosy.Operators("operators", handlers="./handlers", configured=True)

pulumi.export("crdNames", operators.crd_names)
pulumi.export("platform", operators.platform)
