package dynamostore_test

import (
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/infra/standin"
	"triad/shared/cloud/carrier"
	"triad/shared/store/dynamostore"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conforms(t, standin.DynamoDB(t))
}

func TestConformanceOnMiniStack(t *testing.T) {
	t.Parallel()
	conforms(t, standin.MiniStack(t))
}

// conforms runs the suite on tables of its own for each case.
func conforms(t *testing.T, endpoint string) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		client := dialAt(endpoint, nil)
		config := tablesOn(t, client)
		s := dynamostore.New(client, config)
		h := storetest.Harness{Store: s, Definitions: s, Walker: dynamostore.NewWalker(client, config), Reopen: func(*testing.T) storetest.Harness {
			s := dynamostore.New(dialAt(endpoint, nil), config)
			return storetest.Harness{Store: s, Definitions: s}
		}}
		h.Damage = func(t *testing.T, id task.ID) storetest.Harness {
			set(t, client, config, key(id, "task"), "Steps", &types.AttributeValueMemberS{Value: "x"})
			return h
		}
		return h
	})
}

// dial makes a client of DynamoDB Local. With a transport its calls go through
// that.
func dial(t *testing.T, transport http.RoundTripper) *dynamodb.Client {
	t.Helper()
	return dialAt(standin.DynamoDB(t), transport)
}

func dialAt(endpoint string, transport http.RoundTripper) *dynamodb.Client {
	c := standin.Caller(endpoint)
	if transport != nil {
		c.HTTPClient = carrier.Whole(&http.Client{Transport: transport})
	}
	return dynamodb.NewFromConfig(c)
}

// tables makes a pair of tables for one test, on DynamoDB Local.
func tables(t *testing.T) (*dynamodb.Client, dynamostore.Config) {
	t.Helper()
	client := dial(t, nil)
	return client, tablesOn(t, client)
}

func tablesOn(t *testing.T, client *dynamodb.Client) dynamostore.Config {
	t.Helper()
	name := rand.Text()
	config := dynamostore.Config{Tasks: "tasks-" + name, Orders: "orders-" + name}
	if err := dynamostore.CreateTables(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	return config
}
