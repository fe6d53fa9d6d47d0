package dynamostore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/task"
)

// indexName is the index of Tasks by Shard and CompleteBy. It is sparse: a task
// without CompleteBy isn't in it. It projects keys only, so a write that changes
// neither key costs nothing there.
const indexName = "CompleteBy"

// The names of the partitions of the index: a shard has its number, one of held
// tasks and that of failed ones have a word before it.
const (
	heldPrefix  = "held-"
	errorPrefix = "error-"
)

// partition names the partition of a shard, also of a held one.
func partition(shard int) string {
	if shard < 0 {
		return heldPrefix + strconv.Itoa(task.HeldShard(shard))
	}
	return strconv.Itoa(shard)
}

// index sets the keys of the index. Shard is always there, to be read back; a
// task without CompleteBy is in no partition, but for a failed one: that is
// listed in a partition of its own under the time of its end.
func (m item) index(t task.Task) {
	if t.State != task.Error || t.CompleteBy != 0 {
		m.text(attrShard, partition(t.Shard))
		m.number(attrCompleteBy, int64(t.CompleteBy))
		return
	}
	shard := t.Shard
	if shard < 0 {
		shard = task.HeldShard(shard)
		m.flag(attrHeld, true)
	}
	m.text(attrShard, errorPrefix+strconv.Itoa(shard))
	m[attrCompleteBy] = number(int64(t.EndedAt))
}

// indexed reads what index set.
func (r *reader) indexed(t *task.Task) {
	name := r.text(attrShard)
	number, failed := strings.CutPrefix(name, errorPrefix)
	number, held := strings.CutPrefix(number, heldPrefix)
	shard, err := strconv.Atoi(number)
	if err != nil {
		r.damaged(attrShard, fmt.Sprintf("%q names no shard", name))
		return
	}
	if t.Shard = shard; held || r.flag(attrHeld) {
		t.Shard = task.HeldShard(shard)
	}
	if !failed {
		t.CompleteBy = task.Millis(r.number(attrCompleteBy))
	}
}

// place is a row of the index, or with an empty id the start of a partition.
type place struct {
	partition  string
	completeBy task.Millis
	id         task.ID
}

// String is a cursor; parsePlace reads it.
func (p place) String() string { return fmt.Sprintf("%s.%d.%s", p.partition, p.completeBy, p.id) }

// key is where a query goes on after the row; nil starts it.
func (p place) key() item {
	if p.id == "" {
		return nil
	}
	m := taskKey(p.id)
	m[attrShard], m[attrCompleteBy] = text(p.partition), number(int64(p.completeBy))
	return m
}

// parsePlace reads a cursor, which must be in one of the partitions.
func parsePlace(cursor string, partitions ...string) (p place, at int, err error) {
	name, rest, _ := strings.Cut(cursor, ".")
	by, id, found := strings.Cut(rest, ".")
	millis, err := strconv.ParseInt(by, 10, 64)
	for at = range partitions {
		if found && err == nil && partitions[at] == name && (id == "" || task.ValidateID(task.ID(id)) == nil) {
			return place{partition: name, completeBy: task.Millis(millis), id: task.ID(id)}, at, nil
		}
	}
	return p, 0, fmt.Errorf("%w: %q is not one of this store, for this query", store.ErrCursor, cursor)
}

// placeOf reads a row of the index.
func placeOf(row map[string]types.AttributeValue) (place, error) {
	r := reader{m: row}
	p := place{partition: r.text(attrShard), completeBy: task.Millis(r.number(attrCompleteBy)), id: task.ID(r.text(attrID))}
	return p, r.err
}
