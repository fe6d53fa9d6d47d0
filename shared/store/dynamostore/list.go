package dynamostore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/task"
)

const (
	// maxBatch is the most keys that DynamoDB takes in one BatchGetItem.
	maxBatch = 100
	// maxScan bounds the tasks that one call of List reads.
	maxScan = 1_000
)

// List returns unfinished tasks by shard and CompleteBy, or failed ones by shard,
// the latest first. To find few among many it reads up to 1,000 tasks a call, and
// may return a page that is short, or even empty, with a cursor to go on from.
// A task that moves in the index meanwhile may come twice, or not. Queries for
// neither unfinished nor failed tasks are store.ErrUnsupported.
func (s *Store) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	page, err := s.list(ctx, q)
	if err != nil {
		return store.ListPage{}, fmt.Errorf("listing tasks: %w", err)
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q store.ListQuery) (page store.ListPage, err error) {
	partitions, err := s.partitions(q)
	if err != nil {
		return page, err
	}
	from, at := place{partition: partitions[0]}, 0
	if q.Cursor != "" {
		if from, at, err = parsePlace(q.Cursor, partitions...); err != nil {
			return page, err
		}
	}
	limit := min(q.Limit, 1_000)
	if limit <= 0 {
		limit = 100
	}
	for read := 0; len(page.Tasks) < limit && read < maxScan; {
		rows, more, err := s.walk(ctx, from, math.MaxInt64, min(limit-len(page.Tasks), maxBatch))
		if err != nil {
			return page, err
		}
		if page.Tasks, err = s.collect(ctx, q, rows, page.Tasks); err != nil {
			return page, err
		}
		read += len(rows)
		if more {
			from = rows[len(rows)-1]
		} else if at++; at < len(partitions) {
			from = place{partition: partitions[at]}
		} else {
			return page, nil
		}
	}
	page.Next = from.String()
	return page, nil
}

// partitions are those that hold every task that q asks for.
func (s *Store) partitions(q store.ListQuery) (names []string, err error) {
	unfinished := q.Unfinished || q.State != "" && !q.State.Finished()
	if !unfinished && q.State != task.Error {
		return nil, fmt.Errorf("%w: ask for unfinished tasks, or for those in %s", store.ErrUnsupported, task.Error)
	}
	for shard := range s.config.Shards {
		if unfinished {
			names = append(names, partition(shard))
		} else {
			names = append(names, errorPrefix+strconv.Itoa(shard))
		}
	}
	for n := 0; unfinished && n < task.HeldShards; n++ {
		names = append(names, partition(task.HeldShard(n)))
	}
	return names, nil
}

func failed(partition string) bool { return strings.HasPrefix(partition, errorPrefix) }

// collect loads the tasks of rows and appends those that q asks for, in the order
// of rows. What the index says is a hint: tasks are judged as they are.
func (s *Store) collect(ctx context.Context, q store.ListQuery, rows []place, tasks []task.Task) ([]task.Task, error) {
	loaded, err := s.batch(ctx, rows)
	if err != nil {
		return tasks, err
	}
	for _, row := range rows {
		t, found := loaded[row.id]
		if found && matches(t, q) {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// batch loads the records of up to maxBatch rows; those gone meanwhile are left
// out.
//
// Reads: task items by key, eventually consistent. Keys that DynamoDB did not
// process are asked for again, after a pause, until the context ends.
func (s *Store) batch(ctx context.Context, rows []place) (map[task.ID]task.Task, error) {
	tasks := map[task.ID]task.Task{}
	var keys []map[string]types.AttributeValue
	for _, row := range rows {
		keys = append(keys, taskKey(row.id))
	}
	for wait := firstWait; len(keys) > 0; wait = min(2*wait, lastWait) {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.config.Tasks: {Keys: keys}},
		})
		if err != nil {
			return nil, translate(ctx, err, s.config.Tasks)
		}
		for _, m := range out.Responses[s.config.Tasks] {
			t, _, err := decode(m)
			if err != nil {
				return nil, fmt.Errorf("task %s: %w", (&reader{m: m}).text(attrID), err)
			}
			tasks[t.ID] = t
		}
		if keys = out.UnprocessedKeys[s.config.Tasks].Keys; len(keys) > 0 {
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
		}
	}
	return tasks, nil
}

func matches(t task.Task, q store.ListQuery) bool {
	name, _, _ := strings.Cut(t.Workflow, "@")
	return (q.State == "" || t.State == q.State) &&
		(q.Workflow == "" || t.Workflow == q.Workflow || name == q.Workflow) &&
		(q.Tenant == "" || t.Tenant == q.Tenant) &&
		(!q.Unfinished || !t.State.Finished())
}
