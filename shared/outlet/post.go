package outlet

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// maxEntries is how many messages SQS and SNS take in one call.
	maxEntries = 10
	// maxSent and maxPublished are how many bytes the messages of one call may
	// have together, and one message alone.
	maxSent      = 1 << 20
	maxPublished = 256 << 10
	// kindOfText is the type of all attributes.
	kindOfText = "String"
)

// parcel is a message to send.
type parcel struct {
	body       string
	attributes map[string]string // none is empty
}

// with adds an attribute, unless its value is empty, which AWS refuses.
func (p *parcel) with(name, value string) {
	if value == "" {
		return
	}
	if p.attributes == nil {
		p.attributes = make(map[string]string)
	}
	p.attributes[name] = value
}

// size is how many bytes AWS counts.
func (p parcel) size() int {
	n := len(p.body)
	for name, value := range p.attributes {
		n += len(name) + len(kindOfText) + len(value)
	}
	return n
}

// batches puts the numbers of the parcels into batches of up to 10 and most
// bytes, in order. A parcel that is larger alone has a batch of its own.
func batches(parcels []parcel, most int) (all [][]int) {
	size := 0
	for i, p := range parcels {
		last := len(all) - 1
		if last < 0 || len(all[last]) == maxEntries || size+p.size() > most {
			all, size, last = append(all, nil), 0, last+1
		}
		all[last] = append(all[last], i)
		size += p.size()
	}
	return all
}

// send sends parcels to a queue, and returns why some were not sent, or may not
// have been, by number. A cause that is a *final comes on every try.
func (o *Outlet) send(ctx context.Context, name, address string, parcels []parcel) map[int]error {
	c := call{"sending to queue " + name, "SQS", "sqs:SendMessage", address}
	failed := make(map[int]error)
	for _, batch := range batches(parcels, maxSent) {
		entries := make([]types.SendMessageBatchRequestEntry, len(batch))
		for n, i := range batch {
			id := strconv.Itoa(i)
			entries[n] = types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &parcels[i].body, MessageAttributes: sqsAttributes(parcels[i])}
		}
		out, err := o.Queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &address, Entries: entries})
		if err != nil {
			c.settle(batch, nil, c.failure(ctx, err), failed)
			continue
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
	return failed
}

// settle puts the causes of a batch into failed: what the answers say, or
// otherwise, where they say nothing.
func (c call) settle(batch []int, answers map[string]error, otherwise error, failed map[int]error) {
	for _, i := range batch {
		err, answered := answers[strconv.Itoa(i)]
		if !answered {
			err = otherwise
		}
		if err != nil {
			failed[i] = err
		}
	}
}

func sqsAttributes(p parcel) map[string]types.MessageAttributeValue {
	text, all := kindOfText, make(map[string]types.MessageAttributeValue, len(p.attributes))
	for name, value := range p.attributes {
		all[name] = types.MessageAttributeValue{DataType: &text, StringValue: &value}
	}
	return all
}
