package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// account is the account of every resource in an emulator.
const account = "000000000000"

// permission is an action on a resource.
type permission struct{ action, resource string }

// permissions says what AWS demands for a call. The operation is in the header
// X-Amz-Target (DynamoDB, SQS) or in a form (SNS).
func permissions(in *http.Request, body []byte) ([]permission, error) {
	signed := scope.FindStringSubmatch(in.Header.Get("Authorization"))
	if signed == nil {
		return nil, fmt.Errorf("a call of %s is not signed", in.URL.Path)
	}
	region := signed[1]
	api, operation, _ := strings.Cut(in.Header.Get("X-Amz-Target"), ".")
	switch {
	case api == "DynamoDB_20120810":
		return inTable(region, operation, body)
	case api == "AmazonSQS":
		return inQueue(region, operation, body)
	case signed[2] == "sns":
		return inTopic(body)
	}
	return nil, fmt.Errorf("nothing is known of the service %s (%s %s)", signed[2], in.Method, in.URL.Path)
}

// Operations of DynamoDB that are a permission of the same name. Every other
// that is known consists of some of them.
var plain = []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "DescribeTable"}

// transactional are the parts of a transaction and the permissions they need.
var transactional = map[string]string{
	"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem",
}

func inTable(region, operation string, body []byte) ([]permission, error) {
	var call struct {
		TableName     string
		IndexName     string
		RequestItems  map[string]any
		TransactItems []map[string]struct{ TableName string }
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, fmt.Errorf("reading dynamodb %s: %w", operation, err)
	}
	on := func(action, table string) permission {
		return permission{"dynamodb:" + action, fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", region, account, table)}
	}
	var needs []permission
	switch {
	case slices.Contains(plain, operation):
		table := call.TableName
		if call.IndexName != "" {
			table += "/index/" + call.IndexName
		}
		needs = append(needs, on(operation, table))
	case operation == "BatchGetItem" || operation == "BatchWriteItem":
		for table := range call.RequestItems {
			needs = append(needs, on(operation, table))
		}
	case operation == "TransactWriteItems" || operation == "TransactGetItems":
		for _, item := range call.TransactItems {
			for part, at := range item {
				action, known := transactional[part]
				if !known {
					return nil, fmt.Errorf("nothing is known of the part %s of dynamodb %s", part, operation)
				}
				needs = append(needs, on(action, at.TableName))
			}
		}
	default:
		return nil, fmt.Errorf("nothing is known of dynamodb %s", operation)
	}
	if len(needs) == 0 || slices.ContainsFunc(needs, func(p permission) bool { return strings.HasSuffix(p.resource, "/") }) {
		return nil, fmt.Errorf("dynamodb %s names no table", operation)
	}
	return needs, nil
}

// queued are the operations of SQS that are known. One on many messages needs
// what it needs on one.
var queued = []string{"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl"}

func inQueue(region, operation string, body []byte) ([]permission, error) {
	var call struct{ QueueURL, QueueName string }
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, fmt.Errorf("reading sqs %s: %w", operation, err)
	}
	action := strings.TrimSuffix(operation, "Batch")
	if !slices.Contains(queued, action) {
		return nil, fmt.Errorf("nothing is known of sqs %s", operation)
	}
	name := call.QueueName
	if call.QueueURL != "" {
		name = path.Base(call.QueueURL)
	}
	if name == "" {
		return nil, fmt.Errorf("sqs %s names no queue", operation)
	}
	return []permission{{"sqs:" + action, fmt.Sprintf("arn:aws:sqs:%s:%s:%s", region, account, name)}}, nil
}

func inTopic(body []byte) ([]permission, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("reading a call of sns: %w", err)
	}
	if operation := form.Get("Action"); operation != "Publish" && operation != "PublishBatch" {
		return nil, fmt.Errorf("nothing is known of sns %s", operation)
	}
	topic := form.Get("TopicArn")
	if topic == "" {
		return nil, errors.New("sns Publish names no topic")
	}
	return []permission{{"sns:Publish", topic}}, nil
}
