# A HorizontalPodAutoscaler for each Scaling. One line of JSON comes in for each request, and one goes out. The API server has
# filled in the defaults and refused what breaks a rule: here every field exists and is valid.
set -o errexit
while IFS= read -r request; do
  jq --compact-output '.object as {$metadata, $spec} | {
    id,
    children: [{
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: {name: $metadata.name},
      spec: {
        scaleTargetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $spec.deployment},
        minReplicas: $spec.minimum,
        maxReplicas: $spec.maximum,
        metrics: [{
          type: "Resource",
          resource: {name: "cpu", target: {type: "Utilization", averageUtilization: $spec.cpuPercent}}
        }]
      }
    }]
  }' <<<"$request"
done
