package outlet_test

import (
	"strings"
	"testing"

	"triad/shared/outlet"
)

const (
	awsScheduler = "https://sqs.eu-north-1.amazonaws.com/123456789012/demo-scheduler"
	arnShop      = "arn:aws:sqs:eu-north-1:123456789012:shop"
)

func TestResponseQueuesOfARNs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		scheduler string
		arns      []string
		want      outlet.Responses
	}{
		"none":                     {awsScheduler, nil, outlet.Responses{}},
		"what an empty list gives": {awsScheduler, []string{""}, outlet.Responses{}},
		"one, and one of the stack": {awsScheduler, []string{arnShop, " arn:aws:sqs:eu-north-1:123456789012:demo-depot "}, outlet.Responses{
			"shop": "https://sqs.eu-north-1.amazonaws.com/123456789012/shop", "depot": "https://sqs.eu-north-1.amazonaws.com/123456789012/demo-depot"}},
		"another account": {awsScheduler, []string{"arn:aws:sqs:eu-north-1:999999999999:shop"}, outlet.Responses{
			"shop": "https://sqs.eu-north-1.amazonaws.com/999999999999/shop"}},
		"a name that only begins like the stack": {awsScheduler, []string{"arn:aws:sqs:eu-north-1:1:demoshop"}, outlet.Responses{
			"demoshop": "https://sqs.eu-north-1.amazonaws.com/1/demoshop"}},
		"the name of a queue of ours, but not of the stack": {awsScheduler, []string{"arn:aws:sqs:eu-north-1:1:scheduler"}, outlet.Responses{
			"scheduler": "https://sqs.eu-north-1.amazonaws.com/1/scheduler"}},
		"China": {"https://sqs.cn-north-1.amazonaws.com.cn/1/demo-scheduler", []string{"arn:aws-cn:sqs:cn-north-1:1:shop"}, outlet.Responses{
			"shop": "https://sqs.cn-north-1.amazonaws.com.cn/1/shop"}},
		"the old form of hosts": {"https://eu-north-1.queue.amazonaws.com/1/demo-scheduler", []string{"arn:aws:sqs:eu-north-1:1:shop"}, outlet.Responses{
			"shop": "https://eu-north-1.queue.amazonaws.com/1/shop"}},
		"outside of AWS, of any region": {"http://127.0.0.1:4566/000000000000/demo-scheduler", []string{"arn:aws:sqs:elasticmq:000000000000:shop"}, outlet.Responses{
			"shop": "http://127.0.0.1:4566/000000000000/shop"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := outlet.ParseResponses(c.arns, c.scheduler, "demo")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "response queues", got, c.want)
		})
	}
}

func TestARNsThatCanNotBeResponseQueues(t *testing.T) {
	t.Parallel()
	const noARN = "this is no ARN of a queue: it must be like arn:aws:sqs:REGION:ACCOUNT:NAME"
	cases := map[string]struct {
		arns []string
		want string // what is wrong with the last
	}{
		"no ARN":               {[]string{"shop"}, noARN},
		"a URL":                {[]string{awsScheduler}, noARN},
		"a topic":              {[]string{"arn:aws:sns:eu-north-1:1:shop"}, noARN},
		"no account":           {[]string{"arn:aws:sqs:eu-north-1::shop"}, noARN},
		"no name":              {[]string{"arn:aws:sqs:eu-north-1:1:"}, noARN},
		"more behind":          {[]string{arnShop + ":x"}, noARN},
		"a path for a name":    {[]string{"arn:aws:sqs:eu-north-1:1:a/../b"}, noARN},
		"another region":       {[]string{"arn:aws:sqs:us-east-1:1:shop"}, "it is in the region us-east-1, Triad is in eu-north-1: name a queue of eu-north-1"},
		"FIFO":                 {[]string{"arn:aws:sqs:eu-north-1:1:shop.fifo"}, "it is a FIFO queue: name a standard queue"},
		"our scheduler":        {[]string{"arn:aws:sqs:eu-north-1:1:demo-scheduler"}, "it is a queue of Triad itself: name one of the application's"},
		"an agent of ours":     {[]string{"arn:aws:sqs:eu-north-1:1:demo-agent-payment"}, "it is a queue of Triad itself: name one of the application's"},
		"dead letters of ours": {[]string{"arn:aws:sqs:eu-north-1:1:demo-scheduler-dead"}, "it is a queue of Triad itself: name one of the application's"},
		"no id":                {[]string{"arn:aws:sqs:eu-north-1:1:_shop"}, "submissions can't name it: id has the character '_' at position 1: use letters, digits and . _ : - after a first letter or digit"},
		"only the stack":       {[]string{"arn:aws:sqs:eu-north-1:1:demo-"}, "submissions can't name it: id is empty: give the order's own id"},
		"one name twice":       {[]string{arnShop, "arn:aws:sqs:eu-north-1:1:demo-shop"}, "its name shop is that of " + arnShop + ` already: names must differ without the leading "demo-"`},
		"one ARN twice":        {[]string{arnShop, arnShop}, "its name shop is that of " + arnShop + ` already: names must differ without the leading "demo-"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := outlet.ParseResponses(c.arns, awsScheduler, "demo")
			equal(t, "error", text(err), "response queue "+c.arns[len(c.arns)-1]+": "+c.want)
		})
	}
	t.Run("all of them are told", func(t *testing.T) {
		t.Parallel()
		_, err := outlet.ParseResponses([]string{"a", arnShop, "b"}, awsScheduler, "demo")
		equal(t, "error", text(err), "response queue a: "+noARN+"\nresponse queue b: "+noARN)
	})
	t.Run("a base that is no URL", func(t *testing.T) {
		t.Parallel()
		for _, base := range []string{"", "demo-scheduler", "http://[::1"} {
			if _, err := outlet.ParseResponses([]string{arnShop}, base, "demo"); !strings.HasPrefix(text(err), "URL of the scheduler queue") {
				t.Errorf("%q: error is %v", base, err)
			}
		}
	})
}

func TestResponsesSayWhatThereIs(t *testing.T) {
	t.Parallel()
	two := outlet.Responses{"shop": "u", "depot": "v"}
	equal(t, "known", text(two.Check("shop")), "")
	equal(t, "unknown", text(two.Check("shp")), `this deployment has no response queue "shp": there are depot, shop`)
	equal(t, "of none", text(outlet.Responses{}.Check("shp")), `this deployment has no response queue "shp": it has none at all`)
}
