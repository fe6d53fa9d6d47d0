package triad_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workplace is where deploy.sh and delete.sh find what they call: programs that
// write down their words, and an aws that answers for a stack.
type workplace struct {
	dir string
	env []string
}

// fakes are the programs. Each call is a line of the file calls.
var fakes = map[string]string{
	"make": `echo "make $*" >>calls`,
	"sam": `echo "sam $*" >>calls
[ ! -f samconfig.after ] || mv samconfig.after samconfig.toml`,
	"bin/triad": `echo "triad $*" >>calls`,
	"aws": `echo "aws $*" >>calls
case "$*" in
*get-account-settings*) [ -n "${LIMIT:-}" ] && echo "$LIMIT" ;;
*describe-stacks*StackId*) echo "arn:aws:cloudformation:eu-west-1:123456789012:stack/shop/1" ;;
*describe-stacks*"'Protect'"*) echo "${PROTECT:-true}" ;;
*describe-stacks*TasksTable*) echo "${TABLES:-shop-Tasks-1	shop-Orders-1}" ;;
*describe-stacks*"'Agents'"*) echo "inventory,payment" ;;
*describe-stacks*Parameters*)
  [ "${DENIED:-}" = "" ] || { echo "An error occurred (AccessDenied)" >&2; exit 254; }
  [ -n "${PARAMETERS:-}" ] || { echo "An error occurred (ValidationError): Stack with id shop does not exist" >&2; exit 254; }
  echo "$PARAMETERS" ;;
esac`,
}

func newWorkplace(t *testing.T, env ...string) workplace {
	t.Helper()
	w := workplace{dir: t.TempDir()}
	for name, text := range fakes {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append([]string{"PATH=" + os.Getenv("PATH"), "STACK=shop", "ARCH=arm64", "MAKE=" + w.dir + "/make",
		"SAM=" + w.dir + "/sam", "AWS=" + w.dir + "/aws"}, env...)
	return w
}

// write makes a file of the workplace.
func (w workplace) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a script of infra and returns what it said and what it called.
func (w workplace) run(t *testing.T, script, input string) (said, calls string, err error) {
	t.Helper()
	path, err := filepath.Abs("infra/" + script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", path)
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	called, _ := os.ReadFile(filepath.Join(w.dir, "calls"))
	return string(out), string(called), err
}

const samconfig = `version = 0.1
[other.deploy.parameters]
region = "us-west-2"

[shop.deploy.parameters]
stack_name = "shop"
region = "eu-west-1"
parameter_overrides = "SchedulerConcurrency=\"20\" LambdaArchitecture=\"arm64\""
`

func contains(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

func TestTemplateIsDeletedWhereItWasDeployed(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	w.write(t, "samconfig.toml", samconfig)
	said, calls, err := w.run(t, "delete.sh", "shop\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	contains(t, "what is said before the question", said, "arn:aws:cloudformation:eu-west-1:123456789012:stack/shop/1: its queues", "shop-Tasks-1 shop-Orders-1")
	contains(t, "what is called", calls, "--region eu-west-1 cloudformation delete-stack --stack-name shop")
	for line := range strings.Lines(calls) {
		contains(t, "a call", line, "--region eu-west-1")
	}
}

func TestTemplateIsNotDeletedUnasked(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, "TABLES=None")
	said, calls, err := w.run(t, "delete.sh", "no\n")
	if err == nil || strings.Contains(calls, "delete-stack") || strings.Contains(calls, "--region") {
		t.Errorf("%v, calls\n%s", err, calls)
	}
	contains(t, "what is said", said, "Nothing was deleted", "begin with shop-Tables-")
}
