"""Simulation: pi by chance, which takes minutes. The result is kept in the status and in a ConfigMap."""

import random
import sys


def reconcile(request):
    simulation = request["object"]
    name, spec = simulation["metadata"]["name"], simulation["spec"]
    work = f"samples={spec['samples']} seed={spec['seed']}"
    status = simulation.get("status", {})
    # A resync asks again. What is computed already is not computed once more.
    pi = status["pi"] if status.get("of") == work else compute(spec["samples"], spec["seed"])
    result = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"pi": pi}}
    return {"children": [result], "status": {"of": work, "pi": pi}}


def compute(samples, seed):
    print(f"computing {samples} samples", file=sys.stderr)
    dice = random.Random(seed)
    within = sum(dice.random() ** 2 + dice.random() ** 2 < 1 for _ in range(samples))
    return f"{4 * within / samples:.4f}"
