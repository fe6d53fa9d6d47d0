package outlet

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"triad/shared/queue"
	"triad/shared/task"
)

// Alert publishes the alerts to the topic: the JSON of task.Alert, under its
// subject as far as SNS takes it, with the attributes TaskID and Workflow. All
// are tried; the error joins what may not have been published.
func (o *Outlet) Alert(ctx context.Context, alerts []task.Alert) error {
	parcels := make([]parcel, len(alerts))
	for i, a := range alerts {
		body, err := queue.Encode(a)
		if err != nil {
			return fmt.Errorf("encoding alert %s: %w", a.ID, err)
		}
		parcels[i].body = legalJSON(body)
		parcels[i].with(attributeTask, string(a.Task))
		parcels[i].with(attributeWorkflow, a.Workflow)
	}
	failed := make(map[int]error)
	for _, batch := range batches(parcels, maxPublished) {
		o.publish(ctx, alerts, parcels, batch, failed)
	}
	var errs []error
	for i, a := range alerts {
		if failed[i] != nil {
			errs = append(errs, fmt.Errorf("telling alert %s: %w", a.ID, failed[i]))
		}
	}
	return errors.Join(errs...)
}

// publish publishes the alerts of the numbers in batch, and puts the causes of
// those that may not have been published into failed.
func (o *Outlet) publish(ctx context.Context, alerts []task.Alert, parcels []parcel, batch []int, failed map[int]error) {
	c := call{"publishing to topic " + o.Topic, "SNS", "sns:Publish", o.Topic}
	entries := make([]types.PublishBatchRequestEntry, len(batch))
	for n, i := range batch {
		id := strconv.Itoa(i)
		entries[n] = types.PublishBatchRequestEntry{Id: &id, Message: &parcels[i].body, MessageAttributes: snsAttributes(parcels[i])}
		if s := subject(alerts[i].Subject); s != "" {
			entries[n].Subject = &s
		}
	}
	out, err := o.Topics.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: &o.Topic, PublishBatchRequestEntries: entries})
	if err != nil {
		c.settle(batch, nil, c.failure(ctx, err), failed)
		return
	}
	answers := make(map[string]error, len(batch))
	for _, s := range out.Successful {
		answers[aws.ToString(s.Id)] = nil
	}
	for _, f := range out.Failed {
		answers[aws.ToString(f.Id)] = c.tell(c.meaning(aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	c.settle(batch, answers, c.tell(errNoAnswer), failed)
}

func snsAttributes(p parcel) map[string]types.MessageAttributeValue {
	text, all := kindOfText, make(map[string]types.MessageAttributeValue, len(p.attributes))
	for name, value := range p.attributes {
		all[name] = types.MessageAttributeValue{DataType: &text, StringValue: &value}
	}
	return all
}
