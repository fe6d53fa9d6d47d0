package command_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/standin"
)

// told checks that a command line failed with one error, in words of ours: the
// texts are in it.
func (p *program) told(r result, texts ...string) {
	p.t.Helper()
	p.wants(r, 1, nil, texts)
	if n := strings.Count(r.errOut, "triad: "); n != 1 || r.out != "" {
		p.t.Errorf("%d errors, want one and no output:\n%s%s", n, r.out, r.errOut)
	}
	for _, raw := range []string{"operation error", "https response error", "StatusCode", "goroutine", "panic", "triad dev", "SDK "} {
		if strings.Contains(r.errOut, raw) {
			p.t.Errorf("%q is in the error:\n%s", raw, r.errOut)
		}
	}
}

// newFronted is a program on a stack of which there are only the outputs.
func newFronted(t *testing.T) (*program, *standin.Front) {
	f := standin.NewEmptyFront(t)
	f.Deploy("web", map[string]string{"Url": "https://web.test"})
	f.Deploy("shop", map[string]string{
		"TasksTable": "shop-Tasks", "OrdersTable": "shop-Orders", "Agents": "payment", "Shards": "2", "RetentionDays": "90", "ResponseQueueArns": "",
		"SchedulerQueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/shop-scheduler", "AlertsTopic": "arn:aws:sns:us-east-1:000000000000:shop-alerts",
	})
	return &program{t: t, env: map[string]string{}, onPause: func() {}}, f
}

func TestAStackThatCannotBeOpenedIsToldWithTheWayOut(t *testing.T) {
	t.Parallel()
	const describe = "cloudformation:DescribeStacks"
	for name, c := range map[string]struct {
		stack  string
		action string
		fault  standin.Fault
		want   []string
	}{
		"no such stack":    {stack: "shp", want: []string{"there is no stack shp in region us-east-1", "--region", "make deploy"}},
		"another's stack":  {stack: "web", want: []string{"stack web has no output TasksTable", "CREATE_COMPLETE", "one of Triad"}},
		"expired":          {"shop", describe, standin.Fault{Status: 403, Code: "ExpiredToken", Message: "The security token included in the request is expired"}, []string{"have expired", "log in again"}},
		"unknown key":      {"shop", describe, standin.Fault{Status: 403, Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid."}, []string{"does not accept these credentials", "AWS_PROFILE"}},
		"wrong secret":     {"shop", describe, standin.Fault{Status: 403, Code: "SignatureDoesNotMatch", Message: "The request signature we calculated does not match"}, []string{"does not accept these credentials"}},
		"not allowed":      {"shop", describe, standin.Fault{Status: 403, Code: "AccessDenied", Message: "User: arn:aws:iam::1:user/kim is not authorized"}, []string{"allow cloudformation:DescribeStacks", "user/kim"}},
		"region off":       {"shop", describe, standin.Fault{Status: 403, Code: "OptInRequired", Message: "needs a subscription"}, []string{"region us-east-1 is not switched on", "--region"}},
		"anything else":    {"shop", describe, standin.Fault{Status: 400, Code: "ValidationError", Message: "stackName failed to satisfy constraint"}, []string{"reading stack shop: ValidationError: stackName"}},
		"table gone":       {"shop", "dynamodb:Query", standin.Fault{Status: 400, Code: "ResourceNotFoundException", Message: "Requested resource not found"}, []string{"opening stack shop", "table shop-Tasks does not exist", "deploy the stack"}},
		"table denied":     {"shop", "dynamodb:Query", standin.Fault{Status: 400, Code: "AccessDeniedException", Message: "not authorized to perform: dynamodb:Query"}, []string{"access to table shop-Tasks was denied", "dynamodb:Query"}},
		"expired just now": {"shop", "dynamodb:Query", standin.Fault{Status: 400, Code: "ExpiredTokenException", Message: "The security token included in the request is expired"}, []string{"ExpiredTokenException", "hint: your credentials for AWS have expired: log in again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, f := newFronted(t)
			if c.action != "" {
				f.Fail(c.action, c.fault)
			}
			p.stdin = placed("order-1")
			for _, args := range [][]string{{"list", "--unfinished"}, {"submit", "-"}, {"cancel", "a", "b"}, {"redrive"}, {"workflow", "apply", "."}} {
				p.told(p.run(append(args, "--stack", c.stack, "--endpoint-url", f.URL)...), c.want...)
			}
		})
	}
}

func TestAnEndpointThatRefusesConnections(t *testing.T) {
	t.Parallel()
	p, _ := newFronted(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	p.told(p.run("list", "--stack", "shop", "--endpoint-url", gone.URL), gone.URL+" does not answer", "connection refused", "--endpoint-url")
}

func TestWhatIsGoneFromUnderAStackIsNamed(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.stdin = placed("order-1")
	p.must("submit", "-")
	denied := standin.Fault{Status: 400, Code: "AccessDeniedException", Message: "not authorized"}
	p.cloud.Fail("dynamodb:TransactWriteItems", denied)
	p.stdin = placed("order-2")
	p.told(p.run("submit", "-"), "submitting line 1", "access to table "+p.cloud.Tables.Tasks, "allow this action")
	p.cloud.Fail("sqs:ReceiveMessage", standin.Fault{Status: 403, Code: "AccessDenied", Message: "not authorized"})
	p.told(p.run("rejected"), "looking into queue rejected", "sqs:ReceiveMessage")
	p.cloud.Mend("sqs:ReceiveMessage")

	for _, queue := range []string{"ticks-dead", "rejected"} {
		if _, err := p.cloud.SQS.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: p.cloud.Queue(queue)}); err != nil {
			t.Fatal(err)
		}
	}
	p.told(p.run("redrive"), "ticks-dead: there is no queue at ", "that the stack is deployed")
	p.told(p.run("redrive", "ticks"), "ticks-dead: there is no queue at ")
	p.told(p.run("rejected"), "looking into queue rejected: there is no queue at ")
	for _, table := range []string{p.cloud.Tables.Orders, p.cloud.Tables.Tasks} {
		if _, err := p.cloud.DynamoDB.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Fatal(err)
		}
		p.told(p.run("show", "order-1"), "does not exist in this account and region", "deploy the stack")
	}
	p.told(p.run("workflow", "apply", filepath.Join("..", "..", "..", "workflows")), "does not exist in this account and region")
}

func TestWatchingAStackOutlastsAShortFault(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.stdin = placed("order-1")
	p.must("submit", "-")
	looks := 0
	p.onPause = func() {
		switch looks++; looks {
		case 1:
			p.cloud.Fail("dynamodb:Query", standin.Fault{Status: 400, Code: "ThrottlingException", Message: "slowly"})
		case 3:
			p.cloud.Mend("dynamodb:Query")
			p.cloud.Settle(t, "order-1")
		}
	}
	r := p.run("watch", "order-1")
	p.wants(r, 0, []string{"Processed  order-1"}, []string{"slowly", "trying for 30s"})
	if n := strings.Count(r.errOut, "trying for"); n != 1 {
		t.Errorf("it is told %d times, want once:\n%s", n, r.errOut)
	}
}

// TestCredentialsRegionAndEndpointOfTheEnvironment: as the aws command finds them.
// It changes the environment, so no other test runs meanwhile.
func TestCredentialsRegionAndEndpointOfTheEnvironment(t *testing.T) {
	p, f := newFronted(t)
	f.Fail("dynamodb:Query", standin.Fault{Status: 400, Code: "AccessDeniedException", Message: "reached"})
	list := []string{"list", "--stack", "shop"}

	t.Setenv("AWS_ENDPOINT_URL", f.URL)
	p.told(p.run(list...), "reached")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
	p.told(p.run(append(list, "--endpoint-url", f.URL)...), "reached")
	p.told(p.run(append(list, "--region", "eu-north-9", "--stack", "shp")...), "there is no stack shp in region eu-north-9")

	p.told(p.run(append(list, "--profile", "nobody")...), "there is no profile nobody", "AWS_PROFILE")
	config := p.file("config", "[profile ops]\nregion = eu-west-1\naws_access_key_id = a\naws_secret_access_key = b\n"+
		"[profile broken]\nregion = eu-west-1\ncredential_process = false\n")
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_REGION", "")
	p.told(p.run(list...), "no region is set", "--region")
	p.told(p.run(append(list, "--profile", "ops", "--stack", "shp")...), "there is no stack shp in region eu-west-1")
	p.told(p.run(append(list, "--profile", "broken")...), "there are no credentials for AWS that can be used", "log in")

	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	p.told(p.run(list...), "there are no credentials for AWS: log in", "AWS_ACCESS_KEY_ID")
	machine := httptest.NewServer(http.NotFoundHandler()) // of a machine without a role
	defer machine.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.URL)
	p.told(p.run(list...), "there are no credentials for AWS: log in")
}

func TestAStackIsLookedAtLessOften(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	for _, c := range []struct {
		args []string
		want time.Duration
	}{
		{[]string{"watch"}, 10 * time.Second},
		{[]string{"watch", "--every", "1s"}, time.Second},
	} {
		p.onPause = func() {
			p.cloud.Fail("*", standin.Fault{Status: 400, Code: "AccessDeniedException", Message: "enough"})
		}
		r := p.run(c.args...)
		p.cloud.Mend("*")
		if r.code != 1 || p.pauses[0] != c.want {
			t.Errorf("%v: code %d, paused for %v, want %v", c.args, r.code, p.pauses[0], c.want)
		}
	}
}
