package dynamostore_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// errLost is a call whose outcome its caller does not learn.
var errLost = errors.New("connection reset")

// once does something else the first time only.
func once(first func(call func() error) error) func(call func() error) error {
	var done atomic.Bool
	return func(call func() error) error {
		if done.Swap(true) {
			return call()
		}
		return first(call)
	}
}

// sentinels are the errors that say that nothing was written.
var sentinels = []error{store.ErrExists, store.ErrNotFound, store.ErrConflict, store.ErrTooLarge, store.ErrUnsupported,
	store.ErrCursor, store.ErrFull, store.ErrDamaged}

// wantUncertain checks that err is none of the contract's and none of the SDK's.
func wantUncertain(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			t.Errorf("got %v, want an error that is no sentinel", err)
		}
	}
	wantOurs(t, err, texts...)
}

// wantOurs checks the text of an error, and that no error of the SDK is in it.
func wantOurs(t *testing.T, err error, texts ...string) {
	t.Helper()
	var api smithy.APIError
	var operation *smithy.OperationError
	if errors.As(err, &api) || errors.As(err, &operation) {
		t.Errorf("an error of the SDK left the package: %T in %v", err, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want %q in it", err, text)
		}
	}
}

func wantTask(t *testing.T, s *dynamostore.Store, want task.Task) {
	t.Helper()
	got, err := s.Load(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Load (-got +want):\n%s", diff)
	}
}

// TestEachWriteLostOrAppliedAndReportedAsFailed: in either case the first try is
// an uncertain error, the repeat succeeds, and the change is there once.
func TestEachWriteLostOrAppliedAndReportedAsFailed(t *testing.T) {
	t.Parallel()
	faults := map[string]func(call func() error) error{
		"lost":                            func(func() error) error { return errLost },
		"applied, but reported as failed": func(call func() error) error { return errors.Join(call(), errLost) },
		"throttled": func(func() error) error {
			return &types.ProvisionedThroughputExceededException{Message: aws.String("too fast")}
		},
	}
	for name, fault := range faults {
		for kind, aside := range map[string]int{"one item": 1, "with a side item": 1_000} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				client, config := tables(t)
				f := &faulty{Client: client, write: once(fault)}
				s := dynamostore.New(f, config)
				first := store.Change{Task: everything("order-1")}
				wantUncertain(t, s.Create(t.Context(), first))
				if err := s.Create(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				wantTask(t, s, first.Task)

				f.write = once(fault)
				v := next(first.Task)
				v.Steps[2].Output = []byte(`"` + strings.Repeat("x", aside) + `"`)
				c := store.Change{Task: v, Locks: []task.Lock{{Step: "a.b #1", LockedBy: "l"}, {Step: "m"}}, Outputs: large(v)[1:]}
				wantUncertain(t, s.Commit(t.Context(), c))
				if err := s.Commit(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				wantTask(t, s, v)
			})
		}
	}
}

// wire is a transport that drops the answer of the first write, once it has
// been applied and meanwhile has run.
type wire struct {
	dropped   atomic.Int32
	meanwhile func()
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	target := r.Header.Get("X-Amz-Target")
	write := strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".TransactWriteItems")
	if err != nil || !write || w.dropped.Add(1) > 1 {
		return answer, err
	}
	if w.meanwhile != nil {
		w.meanwhile()
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return nil, errors.Join(io.ErrUnexpectedEOF, err, answer.Body.Close())
}

// TestWritesThatTheSDKRepeats: the SDK hides the lost answer and reports that
// the condition of its second try failed.
func TestWritesThatTheSDKRepeats(t *testing.T) {
	t.Parallel()
	_, config := tables(t)
	v := everything("order-1")
	for _, c := range []struct {
		name   string
		change func(*task.Task)
	}{
		{"create", nil},
		{"commit of one item", func(v *task.Task) { v.Reason = "changed" }},
		{"commit with a side item", func(v *task.Task) { v.Steps[2].Output = []byte(strings.Repeat("1", 1_000)) }},
	} {
		w := &wire{}
		s := dynamostore.New(dial(t, w), config)
		if c.change == nil {
			create(t, s, v)
		} else {
			v = next(v)
			c.change(&v)
			commit(t, s, v, large(v)...)
		}
		if w.dropped.Load() < 2 {
			t.Errorf("%s: the SDK made %d tries, want 2", c.name, w.dropped.Load())
		}
		wantTask(t, s, v)
	}
}

// TestAWriteThatTheSDKRepeatsAfterAnotherWriter: the store can't know whether the
// write came first, and says so. Of one that was too late it knows that it did not.
func TestAWriteThatTheSDKRepeatsAfterAnotherWriter(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	other := dynamostore.New(client, config)
	v := everything("order-1")
	create(t, other, v)
	ours := next(v)
	s := dynamostore.New(dial(t, &wire{meanwhile: func() { commit(t, other, next(ours)) }}), config)
	if err := s.Commit(t.Context(), store.Change{Task: ours}); !errors.Is(err, store.ErrConflict) || !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("got %v, want %v with %v", err, store.ErrConflict, store.ErrOvertaken)
	}
	late := next(ours)
	late.Op = "other.op"
	if err := other.Commit(t.Context(), store.Change{Task: late}); !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrOvertaken) {
		t.Errorf("got %v, want %v alone", err, store.ErrConflict)
	}
}

func TestWritesWaitForOneInProgress(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	var met int
	conflicts := []error{
		&types.TransactionConflictException{}, &types.TransactionInProgressException{},
		&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("ConditionalCheckFailed")}, {Code: aws.String("TransactionConflict")}}},
	}
	f := &faulty{Client: client, write: func(call func() error) error {
		if met++; met <= len(conflicts) {
			return conflicts[met-1]
		}
		return call()
	}}
	s := dynamostore.New(f, config)
	v := everything("order-1")
	create(t, s, v)
	wantTask(t, s, v)
	f.write = func(func() error) error { return conflicts[0] }
	wantUncertain(t, s.Commit(t.Context(), store.Change{Task: next(v)}), "in progress")
	ctx, cancel := context.WithCancel(t.Context())
	f.write = func(func() error) error { cancel(); return conflicts[0] }
	if err := s.Commit(ctx, store.Change{Task: next(v)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to end with its context", err)
	}
}

// failure is what AWS answers, without a type of its own in the SDK.
func failure(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func TestErrorsOfAWSBecomeOurs(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	tests := map[string]struct {
		err  error
		want error // nil: uncertain
		text string
	}{
		"throttled table": {&types.ThrottlingException{Message: aws.String("slow down"), ThrottlingReasons: []types.ThrottlingReason{
			{Reason: aws.String("IndexWriteKeyRangeThroughputExceeded"), Resource: aws.String("index/CompleteBy")}}}, nil, "IndexWriteKeyRangeThroughputExceeded of index/CompleteBy"},
		"access denied":        {failure("AccessDeniedException", "not authorized"), nil, "policy of the role"},
		"missing table":        {&types.ResourceNotFoundException{Message: aws.String("no such")}, nil, config.Tasks},
		"item too large":       {failure("ValidationException", "Item size has exceeded the maximum allowed size"), store.ErrTooLarge, ""},
		"collection too big":   {&types.ItemCollectionSizeLimitExceededException{Message: aws.String("10 GB")}, store.ErrTooLarge, "10 GB"},
		"an expression's size": {failure("ValidationException", "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 4815"), nil, "4815"},
		"cancelled, the same":  {cancelled("ValidationError", "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size"), nil, "Invalid ConditionExpression"},
		"invalid otherwise":    {failure("ValidationException", "Invalid expression"), nil, "Invalid expression"},
		"internal error":       {failure("InternalServerError", "try again"), nil, "InternalServerError"},
		"nothing from AWS":     {errLost, nil, "connection reset"},
		"cancelled, throttled": {cancelled("ThrottlingError", "slow down"), nil, "slow down"},
		"cancelled, no reason": {cancelled("None", ""), nil, "no reason"},
		"cancelled, too large": {cancelled("ValidationError", "Item size to update has exceeded the maximum allowed size"), store.ErrTooLarge, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dynamostore.New(&faulty{Client: client, write: func(func() error) error { return test.err }}, config)
			for _, write := range []func(context.Context, store.Change) error{s.Create, s.Commit} {
				err := write(t.Context(), store.Change{Task: everything("order-1")})
				if test.want == nil {
					wantUncertain(t, err, test.text, "order-1")
					continue
				}
				if wantOurs(t, err, test.text); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			}
		})
	}
}

func cancelled(code, message string) error {
	return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String("None")}, {Code: aws.String(code), Message: aws.String(message)}}}
}

func TestMissingTablesAreNamed(t *testing.T) {
	t.Parallel()
	s := dynamostore.New(dial(t, nil), dynamostore.Config{Tasks: "tasks-nowhere", Orders: "orders-nowhere"})
	_, err := s.Load(t.Context(), "order-1")
	wantUncertain(t, err, "-nowhere", "deploy the stack")
	_, err = s.Due(t.Context(), store.DueQuery{Limit: 1})
	wantUncertain(t, err, "tasks-nowhere")
	_, err = s.List(t.Context(), store.ListQuery{Unfinished: true})
	wantUncertain(t, err, "tasks-nowhere")
	wantUncertain(t, s.Create(t.Context(), store.Change{Task: everything("order-1")}), "tasks-nowhere or orders-nowhere")
}
