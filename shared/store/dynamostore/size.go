package dynamostore

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store/record"
	"triad/shared/task"
)

// Size is how many bytes DynamoDB counts for the task's item in a store with
// this Config.Keep: a write is billed by each 1,024 of them begun, and one of more
// than record.MaxSize is refused. Side items and the order are not in it. A task
// that no store writes has no size: see record.Check.
func Size(t task.Task, keep time.Duration) (int, error) {
	if err := record.Check(t); err != nil {
		return 0, err
	}
	return size(taskItem(t, keep)), nil
}

// size adds up names and values of an item.
func size(m map[string]types.AttributeValue) (n int) {
	for name, v := range m {
		n += len(name) + sizeOf(v)
	}
	return n
}

// sizeOf is the size of a value. A map or a list has 3 bytes of its own and one
// for each entry.
func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + size(v.Value)
	}
	return 1 // true, false
}

// sizeOfNumber is one byte, one more for each two significant digits, and one
// for a sign. Digits pair up from the right; zeroes at the end don't count.
func sizeOfNumber(s string) int {
	digits, negative := strings.CutPrefix(s, "-")
	n := 1
	if negative {
		n++
	}
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	for strings.HasSuffix(digits, "00") {
		digits = digits[:len(digits)-2]
	}
	return n + len(digits)/2
}
