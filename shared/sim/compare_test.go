package sim

import (
	"crypto/rand"
	"errors"
	flags "flag"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/infra/standin"
	"triad/shared/cloud/carrier"
	"triad/shared/store/dynamostore"
	"triad/shared/store/memstore"
	"triad/shared/store/sqlitestore"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

// How many worlds the stores are compared in.
var (
	worlds    = flags.Int("worlds", 30, "worlds in which the simulated table is compared with the embedded stores")
	awsWorlds = flags.Int("awsworlds", 6, "worlds in which it is compared with DynamoDB Local")
)

// TestTheTableIsNoKinderThanTheEmbeddedStores: the same operations, valid or not,
// have the same results.
func TestTheTableIsNoKinderThanTheEmbeddedStores(t *testing.T) {
	t.Parallel()
	storetest.Compare(t, *worlds, simulated(), inMemory(), inFile())
}

// TestTheTableIsNoKinderThanDynamoDB: nor has it any that differ on AWS's own engine.
func TestTheTableIsNoKinderThanDynamoDB(t *testing.T) {
	t.Parallel()
	endpoint := standin.OwnDynamoDB(t)
	const keep = 50 * 365 * 24 * time.Hour // DynamoDB Local does delete
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	defer transport.CloseIdleConnections()
	caller := standin.Caller(endpoint)
	caller.HTTPClient = carrier.Whole(&http.Client{Transport: transport})
	client := dynamodb.NewFromConfig(caller)
	storetest.Compare(t, *awsWorlds, simulated(), onDynamoDB(client, "dynamostore", 0), onDynamoDB(client, "dynamostore that lets tasks expire", keep))
}

func simulated() storetest.Compared {
	return storetest.Compared{Name: "simulated table", Open: func(*testing.T) (storetest.Harness, func()) {
		return storetest.Harness{Store: newTable(func() task.Millis { return noon })}, func() {}
	}}
}

func inMemory() storetest.Compared {
	return storetest.Compared{Name: "memstore", Open: func(*testing.T) (storetest.Harness, func()) {
		s := memstore.New()
		return storetest.Harness{Store: s, Ledger: s, Walker: s, KeepsTold: true}, func() {}
	}}
}

// inFile is the store of the embedded form; each restart takes its memory, which has
// it read all from the file, or gives it back.
func inFile() storetest.Compared {
	return storetest.Compared{Name: "sqlitestore", Open: func(t *testing.T) (storetest.Harness, func()) {
		var s *sqlitestore.Store
		config, other := sqlitestore.Config{}, sqlitestore.Config{CacheBytes: 1, CheckpointPages: 1}
		path := filepath.Join(t.TempDir(), rand.Text())
		end := func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		var open func(t *testing.T) storetest.Harness
		open = func(t *testing.T) storetest.Harness {
			var err error
			if s, err = sqlitestore.Open(t.Context(), path, config); err != nil {
				t.Fatal(err)
			}
			return storetest.Harness{Store: s, Ledger: s, Walker: s, KeepsTold: true, Reopen: func(t *testing.T) storetest.Harness {
				end()
				config, other = other, config
				return open(t)
			}}
		}
		return open(t), end
	}}
}

func onDynamoDB(client *dynamodb.Client, name string, keep time.Duration) storetest.Compared {
	return storetest.Compared{Name: name, Open: func(t *testing.T) (storetest.Harness, func()) {
		id := rand.Text()
		config := dynamostore.Config{Tasks: "tasks-" + id, Orders: "orders-" + id, Keep: keep}
		if err := dynamostore.CreateTables(t.Context(), client, config); err != nil {
			t.Fatal(err)
		}
		return storetest.Harness{Store: dynamostore.New(client, config), Walker: dynamostore.NewWalker(client, config)}, func() {
			_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &config.Tasks})
			_, again := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &config.Orders})
			if err := errors.Join(err, again); err != nil {
				t.Error(err)
			}
		}
	}}
}
