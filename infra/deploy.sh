#!/bin/sh
# Builds the functions for the processor ARCH and deploys the stack STACK to AWS,
# with region and credentials as the aws command finds them. `make deploy` calls it.
#
# The first time, SAM asks for the parameters and keeps the answers in samconfig.toml,
# under the stack's name; from then on those count. Of a stack that is there already,
# deployed from another place, it offers the parameters that it has. At the end the
# definitions of workflows/ are given to the stack, which fails when one was changed
# without a new version.
set -eu
: "${STACK:?}" "${ARCH:?}" "${MAKE:?}" "${SAM:?}"
: "${AWS:=$(dirname "$SAM")/aws}"
. "$(dirname "$0")/samconfig.sh"

# deployed: the parameters that the stack has, but for empty ones, as NAME=VALUE;
# nothing when there is no such stack.
deployed() {
  query="Parameters[?ParameterValue!=''].join('=', [ParameterKey, ParameterValue])"
  have=$(told "$query" 2>/dev/null) || have=$(told "$query" 2>&1) || case "$have" in
    *"does not exist"*) return 0 ;;
    *)
      echo "$have" >&2
      return 1
      ;;
  esac
  [ "$have" = None ] || echo "$have"
}

# settings: the parameters of the next deployment, as far as they are known.
settings() { if [ -n "$(kept stack_name)" ]; then kept parameter_overrides; else deployed; fi; }

# fitting SETTINGS: fails when they are for another processor than what is built.
fitting() {
  case "$1" in
  *LambdaArchitecture="$ARCH"* | '') ;;
  *)
    echo "the functions of stack $STACK are for another processor than $ARCH, by its parameter LambdaArchitecture:" \
      "deploy with ARCH=arm64 or ARCH=x86_64, or change it in samconfig.toml" >&2
    exit 1
    ;;
  esac
}

# The longest name of a function is STACK-agents-payment, and it may have 64 characters.
if [ ${#STACK} -gt 49 ]; then
  echo "the name of the stack, $STACK, has ${#STACK} characters: at most 49 are possible, as names of functions begin with it" >&2
  exit 1
fi
have=$(settings)
fitting "$have"

"$MAKE" --no-print-directory functions ARCH="$ARCH"

if [ -n "$(kept stack_name)" ]; then
  "$SAM" deploy --config-env "$STACK" --no-fail-on-empty-changeset
else
  set -f # values are words, not names of files
  # shellcheck disable=SC2086
  "$SAM" deploy --guided --stack-name "$STACK" --config-env "$STACK" --no-fail-on-empty-changeset \
    --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --parameter-overrides ${have:-LambdaArchitecture="$ARCH"}
  have=$(settings)
  fitting "$have" # it asked for this one, too
fi

region=$(kept region)
bin/triad --stack "$STACK" ${region:+--region "$region"} workflow apply workflows

# What runs at a time, and is more than the account may run, is throttled: SQS counts
# that as a try. Emulators may not know of such a limit.
limit=$(aws lambda get-account-settings --output text --query AccountLimit.UnreservedConcurrentExecutions 2>/dev/null) || limit=
agents=$(told "Outputs[?OutputKey=='Agents'].OutputValue" | tr ',' '\n' | grep -c .) || agents=0
need=$(deployed | tr '\t ' '\n\n' | awk -F= -v agents="$agents" '
  $1 == "SchedulerConcurrency" { n += 2 * $2 }
  $1 == "AgentConcurrency" { n += agents * $2 }
  END { print n + 3 }')
case "$limit" in
'' | *[!0-9]*) ;;
*)
  [ "$limit" -ge "$need" ] || echo "Warning: this stack may run $need functions at a time, and the account only $limit of all:" \
    "have the account's limit raised, or lower SchedulerConcurrency and AgentConcurrency, or messages end as dead letters under load." >&2
  ;;
esac
