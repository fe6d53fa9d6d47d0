# What is known of the stack STACK: from samconfig.toml, where SAM keeps the answers
# that it was given, and from AWS. deploy.sh and delete.sh read it in; AWS is the aws
# command.

# kept NAME: what samconfig.toml has for a setting of this stack.
kept() {
  [ -f samconfig.toml ] || return 0
  awk -v section="[$STACK.deploy.parameters]" -v name="$1" '
    /^\[/ { inside = $0 == section }
    inside && $1 == name && $2 == "=" { sub(/^[^=]*= */, ""); gsub(/\\?"/, ""); print }' samconfig.toml
}

# aws SERVICE ...: the aws command, in the region of the stack. That of pip does not
# look at AWS_ENDPOINT_URL for every service.
aws() {
  region=$(kept region)
  "$AWS" ${AWS_ENDPOINT_URL:+--endpoint-url "$AWS_ENDPOINT_URL"} ${region:+--region "$region"} "$@"
}

# told QUERY: what AWS has of the stack, as text.
told() { aws cloudformation describe-stacks --stack-name "$STACK" --output text --query "Stacks[0].$1"; }
