#!/bin/sh
# Deletes the stack STACK, after it has said what stays and asked, but with YES=1.
# Its region is the one that samconfig.toml has, or that the aws command finds.
# `make delete` calls it.
set -eu
: "${STACK:?}" "${AWS:?}"
. "$(dirname "$0")/samconfig.sh"

stack=$(told StackId)
protected=$(told "Parameters[?ParameterKey=='Protect'].ParameterValue")
tables=$(told "Outputs[?OutputKey=='TasksTable' || OutputKey=='OrdersTable'].OutputValue" | tr '\t' ' ')
case "$tables" in
'' | None) tables="it was not deployed to its end, and has not told their names, which begin with $STACK-Tables-" ;;
esac

echo "Stack $stack: its queues, with what is in them, and its functions, roles, alarms and logs are deleted."
if [ "$protected" = false ]; then
  echo "Its tables are deleted too, with every task and order: $tables"
else
  echo "Its tables stay, with deletion protection, and cost what their storage costs: $tables"
  echo "A new stack of the same name gets new tables. To delete these as well, first set Protect to false in the parameter_overrides" \
    "of samconfig.toml and deploy again. docs/deploy.md says how to delete tables without a stack."
fi
echo "Response queues and the bucket with the functions' code are not part of the stack, and stay."

if [ "${YES:-}" != 1 ]; then
  printf "Delete stack %s? Write its name: " "$STACK"
  read -r answer || answer=
  if [ "$answer" != "$STACK" ]; then
    echo "Nothing was deleted." >&2
    exit 1
  fi
fi
aws cloudformation delete-stack --stack-name "$STACK"
aws cloudformation wait stack-delete-complete --stack-name "$STACK"
echo "Stack $STACK is deleted."
