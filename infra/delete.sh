#!/bin/sh
# Deletes the stack STACK, after it has said what stays and asked, but with YES=1.
# `make delete` calls it.
set -eu
: "${STACK:?}" "${AWS:?}"

# The aws of pip does not look at AWS_ENDPOINT_URL for every service.
cloudformation() { "$AWS" ${AWS_ENDPOINT_URL:+--endpoint-url "$AWS_ENDPOINT_URL"} cloudformation "$@" --stack-name "$STACK"; }
told() { cloudformation describe-stacks --output text --query "Stacks[0].$1"; }

protected=$(told "Parameters[?ParameterKey=='Protect'].ParameterValue")
tables=$(told "Outputs[?OutputKey=='TasksTable' || OutputKey=='OrdersTable'].OutputValue" | tr '\t' ' ')

echo "Stack $STACK: its queues, with what is in them, and its functions, roles, alarms and logs are deleted."
if [ "$protected" = false ]; then
  echo "Its tables are deleted too, with every task and order: $tables"
else
  echo "Its tables stay, with deletion protection, and cost what their storage costs: $tables"
  echo "A new stack of the same name gets new tables. To delete these as well, first deploy with the parameter Protect=false."
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
cloudformation delete-stack
cloudformation wait stack-delete-complete
echo "Stack $STACK is deleted."
