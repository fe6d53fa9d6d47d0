#!/bin/sh
# Builds the functions for the processor ARCH and deploys the stack STACK to AWS,
# with region and credentials as the aws command finds them. `make deploy` calls it.
#
# The first time, SAM asks for the parameters and keeps the answers in samconfig.toml,
# under the stack's name; from then on those count. At the end the definitions of
# workflows/ are given to the stack, which fails when one was changed without a new
# version.
set -eu
: "${STACK:?}" "${ARCH:?}" "${MAKE:?}" "${SAM:?}"

# kept NAME: what samconfig.toml has for a setting of this stack.
kept() {
  [ -f samconfig.toml ] || return 0
  awk -v section="[$STACK.deploy.parameters]" -v name="$1" '
    /^\[/ { inside = $0 == section }
    inside && $1 == name && $2 == "=" { sub(/^[^=]*= */, ""); gsub(/\\?"/, ""); print }' samconfig.toml
}

case "$(kept parameter_overrides)" in
*LambdaArchitecture="$ARCH"* | '') ;;
*)
  echo "the functions of stack $STACK are for another processor than $ARCH, by LambdaArchitecture in samconfig.toml:" \
    "give ARCH=arm64 or ARCH=x86_64, or change it there" >&2
  exit 1
  ;;
esac

"$MAKE" --no-print-directory functions ARCH="$ARCH"

if [ -n "$(kept stack_name)" ]; then
  "$SAM" deploy --config-env "$STACK" --no-fail-on-empty-changeset
else
  "$SAM" deploy --guided --stack-name "$STACK" --config-env "$STACK" --no-fail-on-empty-changeset \
    --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --parameter-overrides "LambdaArchitecture=$ARCH"
fi

region=$(kept region)
bin/triad --stack "$STACK" ${region:+--region "$region"} workflow apply workflows
