package cloud

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// The clients of the SDK, cut down to the calls that Triad makes.
//
// Why not the clients themselves: expressions of definitions (expr-lang) may call
// methods by name, so the linker keeps every method of every type that is ever
// made an interface, and with it the more than 150 operations of three services:
// 5 MB in each function. A method value names one operation and keeps that one.
//
// call is one operation.
type call[In, Out, Options any] func(context.Context, *In, ...func(*Options)) (*Out, error)

type tables struct {
	putItem            call[dynamodb.PutItemInput, dynamodb.PutItemOutput, dynamodb.Options]
	transactWriteItems call[dynamodb.TransactWriteItemsInput, dynamodb.TransactWriteItemsOutput, dynamodb.Options]
	query              call[dynamodb.QueryInput, dynamodb.QueryOutput, dynamodb.Options]
	getItem            call[dynamodb.GetItemInput, dynamodb.GetItemOutput, dynamodb.Options]
	transactGetItems   call[dynamodb.TransactGetItemsInput, dynamodb.TransactGetItemsOutput, dynamodb.Options]
	batchGetItem       call[dynamodb.BatchGetItemInput, dynamodb.BatchGetItemOutput, dynamodb.Options]
}

func newTables(c aws.Config) tables {
	client := dynamodb.NewFromConfig(c)
	return tables{client.PutItem, client.TransactWriteItems, client.Query, client.GetItem, client.TransactGetItems, client.BatchGetItem}
}

func (c tables) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return c.putItem(ctx, in, o...)
}

func (c tables) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.transactWriteItems(ctx, in, o...)
}

func (c tables) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return c.query(ctx, in, o...)
}

func (c tables) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return c.getItem(ctx, in, o...)
}

func (c tables) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	return c.transactGetItems(ctx, in, o...)
}

func (c tables) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return c.batchGetItem(ctx, in, o...)
}

type messages struct {
	sendMessageBatch        call[sqs.SendMessageBatchInput, sqs.SendMessageBatchOutput, sqs.Options]
	receiveMessage          call[sqs.ReceiveMessageInput, sqs.ReceiveMessageOutput, sqs.Options]
	deleteMessageBatch      call[sqs.DeleteMessageBatchInput, sqs.DeleteMessageBatchOutput, sqs.Options]
	changeMessageVisibility call[sqs.ChangeMessageVisibilityInput, sqs.ChangeMessageVisibilityOutput, sqs.Options]
	getQueueAttributes      call[sqs.GetQueueAttributesInput, sqs.GetQueueAttributesOutput, sqs.Options]
}

func newMessages(c aws.Config) messages {
	client := sqs.NewFromConfig(c)
	return messages{client.SendMessageBatch, client.ReceiveMessage, client.DeleteMessageBatch, client.ChangeMessageVisibility, client.GetQueueAttributes}
}

func (c messages) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	return c.sendMessageBatch(ctx, in, o...)
}

func (c messages) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	return c.receiveMessage(ctx, in, o...)
}

func (c messages) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return c.deleteMessageBatch(ctx, in, o...)
}

func (c messages) ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, o ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	return c.changeMessageVisibility(ctx, in, o...)
}

func (c messages) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, o ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return c.getQueueAttributes(ctx, in, o...)
}

type topics struct {
	publishBatch call[sns.PublishBatchInput, sns.PublishBatchOutput, sns.Options]
}

func newTopics(c aws.Config) topics {
	client := sns.NewFromConfig(c)
	return topics{client.PublishBatch}
}

func (c topics) PublishBatch(ctx context.Context, in *sns.PublishBatchInput, o ...func(*sns.Options)) (*sns.PublishBatchOutput, error) {
	return c.publishBatch(ctx, in, o...)
}
