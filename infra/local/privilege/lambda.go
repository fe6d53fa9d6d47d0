package privilege

import (
	"fmt"
)

// ByLambda is what Lambda itself does as the role of a function, by AWS's
// documentation: it polls the queues that the function is invoked for, and writes
// the function's logs. No function makes these calls, so nobody sees them.
func ByLambda(role string, queues []string, logGroup, region, account string) []Need {
	var needs []Need
	for _, q := range queues {
		for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"} {
			needs = append(needs, Need{role, action, q})
		}
	}
	group := fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", region, account, logGroup)
	return append(needs,
		Need{role, "logs:CreateLogStream", group + ":log-stream:one"},
		Need{role, "logs:PutLogEvents", group + ":log-stream:one"},
	)
}
