package triad_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

func TestTemplateIsDeployedAsItIsKept(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, "LIMIT=1000", "PARAMETERS=SchedulerConcurrency=20\tAgentConcurrency=5")
	w.write(t, "samconfig.toml", samconfig)
	said, calls, err := w.run(t, "deploy.sh", "")
	if err != nil || strings.Contains(calls, "--guided") || strings.Contains(said, "Warning") {
		t.Errorf("%v\n%s%s", err, said, calls)
	}
	contains(t, "what is called", calls, "make --no-print-directory functions ARCH=arm64\nsam deploy --config-env shop",
		"triad --stack shop --region eu-west-1 workflow apply workflows")
}

// A stack that was deployed from elsewhere keeps what it has, unless the answers say
// otherwise; for a new one the template says.
func TestTemplateIsOfferedWithTheParametersOfTheStack(t *testing.T) {
	t.Parallel()
	has := "ServicesUrl=https://shop.example\tLambdaArchitecture=arm64\tResponseQueueArns=arn:aws:sqs:eu-west-1:123456789012:a,arn:aws:sqs:eu-west-1:123456789012:b"
	for parameters, want := range map[string]string{"": "LambdaArchitecture=arm64", has: strings.ReplaceAll(has, "\t", " ")} {
		said, calls, err := newWorkplace(t, "PARAMETERS="+parameters).run(t, "deploy.sh", "")
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		contains(t, "what is called", calls, "sam deploy --guided --stack-name shop", "--parameter-overrides "+want+"\n")
	}
	if said, calls, err := newWorkplace(t, "DENIED=1").run(t, "deploy.sh", ""); err == nil || strings.Contains(calls, "sam ") {
		t.Errorf("nobody knows what the stack has, and it is deployed: %s%s", said, calls)
	}
}

func TestTemplateIsNotDeployedForAnotherProcessor(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(samconfig, "arm64", "x86_64")
	for name, file := range map[string]string{"before": "samconfig.toml", "by the answers": "samconfig.after"} {
		w := newWorkplace(t)
		w.write(t, file, other)
		said, calls, err := w.run(t, "deploy.sh", "")
		if err == nil || strings.Contains(calls, "triad") {
			t.Errorf("%s: deployed for another processor than it was built for\n%s", name, calls)
		}
		contains(t, name, said, "another processor than arm64")
	}
	if _, calls, err := newWorkplace(t, "PARAMETERS=LambdaArchitecture=x86_64").run(t, "deploy.sh", ""); err == nil || strings.Contains(calls, "make") {
		t.Errorf("in the stack: built for another processor\n%s", calls)
	}
}

// The longest name of a function has 64 characters, in the script as on the page.
func TestTemplateHasRoomForTheNameOfTheStack(t *testing.T) {
	t.Parallel()
	most := 64
	for _, fn := range load(t).functions() {
		most = min(most, 64-len("-"+fn.name))
	}
	for length, want := range map[int]bool{most: true, most + 1: false} {
		w := newWorkplace(t)
		w.env = append(w.env, "STACK="+strings.Repeat("s", length))
		if said, _, err := w.run(t, "deploy.sh", ""); (err == nil) != want {
			t.Errorf("a name of %d characters: %v\n%s", length, err, said)
		}
	}
	says(t, "deploy.md", fmt.Sprintf("at most %d characters", most))
}

// What may run at a time is counted of this template, and told where the account
// may run less.
func TestTemplateNeedsConcurrencyOfTheAccount(t *testing.T) {
	t.Parallel()
	has := "PARAMETERS=SchedulerConcurrency=20\tAgentConcurrency=5" // and the agents of the fake aws
	for limit, want := range map[string]bool{"": false, "None": false, "10": true, "52": true, "53": false, "1000": false} {
		said, _, err := newWorkplace(t, has, "LIMIT="+limit).run(t, "deploy.sh", "")
		if err == nil && strings.Contains(said, "Warning: this stack may run 53 functions") != want {
			t.Errorf("limit %q: %s", limit, said)
		}
	}
	root, need := load(t)[rootFile], 1 // the schedule
	for _, fn := range load(t).functions() {
		for _, source := range fn.sources() {
			most := at(source, "ScalingConfig", "MaximumConcurrency")
			if lookup, is := at(most, "Fn::FindInMap").([]any); is {
				most = at(root, "Parameters", fmt.Sprint(at(lookup[1], "Ref")), "Default")
			}
			n, err := strconv.Atoi(fmt.Sprint(most))
			if err != nil {
				t.Fatal(err)
			}
			need += n
		}
	}
	says(t, "deploy.md", fmt.Sprintf("%d functions at a time", need))
}

// says: a page of docs has these words.
func says(t *testing.T, page, words string) {
	t.Helper()
	text, err := os.ReadFile("docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), words) {
		t.Errorf("docs/%s does not say %q", page, words)
	}
}
