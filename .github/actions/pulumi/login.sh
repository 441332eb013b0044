#!/usr/bin/env bash
# Gives the steps that follow what Pulumi needs, as environment variables: the backend, its credentials, the cluster.
# Tells the stack's name for the CLI.
set -euo pipefail

# A variable for the steps that follow. Its value may have any characters, and is never shown in a log.
give() {
  local name=$1 value=$2 end
  if [ -z "$value" ]; then return; fi
  while IFS= read -r line; do
    if [ -n "$line" ]; then echo "::add-mask::$line"; fi
  done <<< "$value"
  end="end-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  printf '%s<<%s\n%s\n%s\n' "$name" "$end" "$value" "$end" >> "$GITHUB_ENV"
}

while IFS= read -r line; do
  if [ -z "$line" ]; then continue; fi
  if ! [[ $line =~ ^[A-Z][A-Z0-9_]*= ]]; then
    echo "::error::The secret BACKEND_CREDENTIALS has a line that is not NAME=value. Write one variable a line."
    exit 1
  fi
  give "${line%%=*}" "${line#*=}"
done <<< "$BACKEND_CREDENTIALS"

give PULUMI_ACCESS_TOKEN "$STORED_TOKEN"
give PULUMI_CONFIG_PASSPHRASE "$PASSPHRASE"
if [ -n "$BACKEND_URL" ]; then echo "PULUMI_BACKEND_URL=$BACKEND_URL" >> "$GITHUB_ENV"; fi

umask 077
printf '%s' "$CLUSTER" > "$RUNNER_TEMP/kubeconfig"
echo "KUBECONFIG=$RUNNER_TEMP/kubeconfig" >> "$GITHUB_ENV"

# A self-managed backend knows no organizations.
echo "stack=${ORGANIZATION:+$ORGANIZATION/}$STACK" >> "$GITHUB_OUTPUT"
