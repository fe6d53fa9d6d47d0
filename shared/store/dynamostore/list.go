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
// A task that moves in the index meanwhile may come twice, or not. One that is
// damaged is told whatever its workflow and tenant. Queries for neither unfinished
// nor failed tasks are store.ErrUnsupported.
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
	for read := 0; len(page.Tasks)+len(page.Damaged) < limit && read < maxScan; {
		// As many as a batch takes, whatever is left of the page: how many of them
		// the query asks for is not known before.
		rows, more, err := s.walk(ctx, from, math.MaxInt64, maxBatch)
		if err != nil {
			return page, err
		}
		used, err := s.collect(ctx, q, rows, limit, &page)
		if err != nil {
			return page, err
		}
		read += used
		if more || used < len(rows) {
			from = rows[used-1]
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

// collect loads the tasks of rows and adds those that q asks for to the page, in
// the order of rows, until it has limit. It returns how many rows it came by. What
// the index says is a hint: tasks are judged as they are, and damaged ones, which
// can't be, are told.
func (s *Store) collect(ctx context.Context, q store.ListQuery, rows []place, limit int, page *store.ListPage) (used int, err error) {
	records, err := s.batch(ctx, rows)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if len(page.Tasks)+len(page.Damaged) == limit {
			break
		}
		used++
		m, found := records[row.id]
		if !found {
			continue
		}
		delete(records, row.id) // a row that moved comes once
		t, _, err := decode(m)
		switch {
		case err != nil:
			page.Damaged = append(page.Damaged, store.Damaged{ID: row.id, Err: err})
		case matches(t, q):
			page.Tasks = append(page.Tasks, t)
		}
	}
	return used, nil
}

// batch reads the records of up to maxBatch rows; those gone meanwhile are left
// out. Of a task that moves the index may have the old row and the new one:
// DynamoDB takes no key twice.
//
// Reads: task items by key, eventually consistent. Keys that DynamoDB did not
// process are asked for again, after a pause, until the context ends.
func (s *Store) batch(ctx context.Context, rows []place) (map[task.ID]item, error) {
	records, asked := map[task.ID]item{}, map[task.ID]bool{}
	var keys []map[string]types.AttributeValue
	for _, row := range rows {
		if !asked[row.id] {
			asked[row.id] = true
			keys = append(keys, taskKey(row.id))
		}
	}
	for wait := firstWait; len(keys) > 0; wait = min(2*wait, lastWait) {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.config.Tasks: {Keys: keys}},
		})
		if err != nil {
			return nil, translate(ctx, err, s.config.Tasks)
		}
		for _, m := range out.Responses[s.config.Tasks] {
			records[task.ID((&reader{m: m}).text(attrID))] = m
		}
		if keys = out.UnprocessedKeys[s.config.Tasks].Keys; len(keys) > 0 {
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
		}
	}
	return records, nil
}

func matches(t task.Task, q store.ListQuery) bool {
	name, _, _ := strings.Cut(t.Workflow, "@")
	return (q.State == "" || t.State == q.State) &&
		(q.Workflow == "" || t.Workflow == q.Workflow || name == q.Workflow) &&
		(q.Tenant == "" || t.Tenant == q.Tenant) &&
		(!q.Unfinished || !t.State.Finished())
}
