package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableClient is what CreateTables calls of *dynamodb.Client.
type TableClient interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

var _ TableClient = (*dynamodb.Client)(nil)

// activeWithin bounds the wait for a new table, and between asks the first pause.
const (
	activeWithin = 2 * time.Minute
	activeAsk    = 50 * time.Millisecond
)

// CreateTables makes both tables of config as the stack's template declares
// them, for tests and local use, and waits until they can be used. Tables that
// exist are left as they are, so it may be repeated.
func CreateTables(ctx context.Context, client TableClient, config Config) error {
	config = config.defaults()
	for _, table := range []*dynamodb.CreateTableInput{tasksTable(config.Tasks), ordersTable(config.Orders)} {
		if err := createTable(ctx, client, table); err != nil {
			return fmt.Errorf("creating table %s: %w", *table.TableName, err)
		}
	}
	return nil
}

func createTable(ctx context.Context, client TableClient, table *dynamodb.CreateTableInput) error {
	_, err := client.CreateTable(ctx, table)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return translate(ctx, err, *table.TableName)
	}
	active := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = activeAsk })
	if err := active.Wait(ctx, &dynamodb.DescribeTableInput{TableName: table.TableName}, activeWithin); err != nil {
		return translate(ctx, err, *table.TableName)
	}
	if exists != nil {
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               table.TableName,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true)},
	})
	return translate(ctx, err, *table.TableName)
}

func tasksTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(attrID, "S"), attribute(attrPart, "S"), attribute(attrShard, "S"), attribute(attrCompleteBy, "N"),
		},
		KeySchema: []types.KeySchemaElement{key(attrID, types.KeyTypeHash), key(attrPart, types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(indexName),
			KeySchema:  []types.KeySchemaElement{key(attrShard, types.KeyTypeHash), key(attrCompleteBy, types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

func ordersTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute(attrID, "S")},
		KeySchema:            []types.KeySchemaElement{key(attrID, types.KeyTypeHash)},
	}
}

func attribute(name string, of types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: of}
}

func key(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
}
