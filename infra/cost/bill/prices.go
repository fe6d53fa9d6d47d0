// Package bill puts prices to what package count has counted, and beside them what
// AWS's own ways to run the same work would cost.
//
// It exists so that the README's claim about cost is a number that anybody can
// make again and take apart: every price is in one table with its source, every
// formula is one function, and where something else is cheaper the bill says so.
//
// Prices are AWS's list prices of one region and one day, without free tiers,
// volume discounts or taxes. Documents repeat the table; a test compares them.
package bill

// Region and Dated say where and when the prices held.
const (
	Region = "us-east-1"
	Dated  = "2026-11-20"
)

// Price is a list price.
type Price struct {
	// Of says what is paid for.
	Of string `json:"of"`
	// Dollars are for Per units.
	Dollars float64 `json:"dollars"`
	Per     float64 `json:"per"`
	Unit    string  `json:"unit"`
	// Source is where the price was read.
	Source string `json:"source"`
}

// Cost is what n units cost, dollars.
func (p Price) Cost(n float64) float64 { return n / p.Per * p.Dollars }

// Prices are all that a bill is made of.
type Prices struct {
	Write, Read, Request, Invocation, Compute         Price
	Transition, ExpressRequest, ExpressCompute        Price
	DurableOperation, DurableWritten, DurableKept     Price
	AlarmMonth, DashboardMonth, MetricMonth, Schedule Price
}

const (
	million = 1e6

	dynamoSource  = "https://github.com/aws/agent-toolkit-for-aws"
	lambdaSource  = "https://aws.amazon.com/lambda/pricing/"
	sqsSource     = "https://cloudburn.io/blog/amazon-sqs-pricing"
	stepsSource   = "https://aws.amazon.com/step-functions/pricing/"
	durableSource = "https://github.com/api-evangelist/aws-lambda"
	watchSource   = "https://aws.amazon.com/cloudwatch/pricing/"
	eventsSource  = "https://aws.amazon.com/eventbridge/pricing/"
)

// List returns the list prices.
func List() Prices {
	return Prices{
		Write:      Price{"DynamoDB, on demand: write request units", 0.625, million, "units", dynamoSource},
		Read:       Price{"DynamoDB, on demand: read request units", 0.125, million, "units", dynamoSource},
		Request:    Price{"SQS, standard queue: requests of up to 64 KB", 0.40, million, "requests", sqsSource},
		Invocation: Price{"Lambda: requests", 0.20, million, "requests", lambdaSource},
		Compute:    Price{"Lambda, arm64: compute", 13.3334, million, "GB-seconds", lambdaSource},

		Transition:     Price{"Step Functions Standard: state transitions", 25, million, "transitions", stepsSource},
		ExpressRequest: Price{"Step Functions Express: requests", 1, million, "requests", stepsSource},
		ExpressCompute: Price{"Step Functions Express: duration, first 1,000 GB-hours", 0.06, 1, "GB-hours", stepsSource},

		DurableOperation: Price{"Lambda durable functions: operations", 8, million, "operations", durableSource},
		DurableWritten:   Price{"Lambda durable functions: data written", 0.25, 1, "GB", durableSource},
		DurableKept:      Price{"Lambda durable functions: data kept", 0.15, 1, "GB-months", durableSource},

		AlarmMonth:     Price{"CloudWatch: standard alarms", 0.10, 1, "alarm-months", watchSource},
		DashboardMonth: Price{"CloudWatch: dashboards", 3, 1, "dashboard-months", watchSource},
		MetricMonth:    Price{"CloudWatch: custom metrics, first 10,000", 0.30, 1, "metric-months", watchSource},
		Schedule:       Price{"EventBridge: schedules of a rule", 0, million, "invocations", eventsSource},
	}
}

// All returns the prices in the order of the documents.
func (p Prices) All() []Price {
	return []Price{
		p.Write, p.Read, p.Request, p.Invocation, p.Compute, p.Transition, p.ExpressRequest, p.ExpressCompute,
		p.DurableOperation, p.DurableWritten, p.DurableKept, p.AlarmMonth, p.DashboardMonth, p.MetricMonth, p.Schedule,
	}
}
