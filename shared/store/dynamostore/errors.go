package dynamostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"triad/shared/store"
)

// errContended is a write that met another in progress. As a rule nothing was
// written; but the other may be an earlier try of this very one, which the SDK
// repeated and which is still to be applied. In either case it may be repeated at
// once: what was applied meanwhile finds its own op.
var errContended = errors.New("another write of the same task is in progress: repeat it")

// refused is a write whose condition did not hold. Nothing was written. It never
// leaves the package: judge makes it a sentinel.
type refused struct {
	parts []part // one for each item of the write
}

// part says what became of one item of a refused write.
type part struct {
	failed bool // its condition did not hold
	old    item // what is stored; nil when nothing is
}

func (*refused) Error() string { return "the condition of the write did not hold" }

// translate turns what the SDK returned into what the contract knows, so that no
// type of the SDK leaves this package. tables are those the call was about. An
// error that is neither a sentinel nor refused leaves the outcome uncertain.
func translate(ctx context.Context, err error, tables string) error {
	var (
		condition   *types.ConditionalCheckFailedException
		cancelled   *types.TransactionCanceledException
		conflict    *types.TransactionConflictException
		inProgress  *types.TransactionInProgressException
		provisioned *types.ProvisionedThroughputExceededException
		throttling  *types.ThrottlingException
		collection  *types.ItemCollectionSizeLimitExceededException
		missing     *types.ResourceNotFoundException
		other       smithy.APIError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &condition):
		return &refused{parts: []part{{failed: true, old: condition.Item}}}
	case errors.As(err, &cancelled):
		return translateReasons(cancelled.CancellationReasons)
	case errors.As(err, &conflict), errors.As(err, &inProgress):
		return errContended
	case errors.As(err, &provisioned):
		return throttled(provisioned.ErrorMessage(), provisioned.ThrottlingReasons)
	case errors.As(err, &throttling):
		return throttled(throttling.ErrorMessage(), throttling.ThrottlingReasons)
	case errors.As(err, &collection):
		return fmt.Errorf("%w: %s", store.ErrTooLarge, collection.ErrorMessage())
	case errors.As(err, &missing):
		return fmt.Errorf("table %s does not exist in this account and region: deploy the stack, or correct the table's name (%s)", tables, missing.ErrorMessage())
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s", ctx.Err(), err)
	case errors.As(err, &other):
		return translateCode(other, tables)
	}
	return fmt.Errorf("calling DynamoDB: %s", err)
}

// translateCode is for the errors that the SDK has no types for.
func translateCode(err smithy.APIError, tables string) error {
	switch code := err.ErrorCode(); {
	case code == "AccessDeniedException":
		return fmt.Errorf("access to table %s was denied: allow this action in the policy of the role (%s)", tables, err.ErrorMessage())
	case code == "ValidationException" && aboutSize(err.ErrorMessage()):
		return fmt.Errorf("%w: %s", store.ErrTooLarge, err.ErrorMessage())
	default:
		return fmt.Errorf("calling DynamoDB for table %s: %s: %s", tables, code, err.ErrorMessage())
	}
}

// aboutSize reports the texts by which an item or a transaction is too large;
// there is no code of its own for that. That of an expression which is too large
// is like them, but says nothing of what was to be stored.
func aboutSize(message string) bool {
	message = strings.ToLower(message)
	return !strings.Contains(message, "expression") && strings.Contains(message, "size") && (strings.Contains(message, "exceed") || strings.Contains(message, "maximum allowed"))
}

// translateReasons reads why a transaction was cancelled. A conflict of any item
// comes first: what the others say may have changed by the time it is over.
func translateReasons(reasons []types.CancellationReason) error {
	no := &refused{parts: make([]part, len(reasons))}
	var all []string
	for i, r := range reasons {
		code := aws.ToString(r.Code)
		switch {
		case code == "" || code == "None":
		case code == "TransactionConflict":
			return errContended
		case code == "ConditionalCheckFailed":
			no.parts[i] = part{failed: true, old: r.Item}
		case code == "ItemCollectionSizeLimitExceeded", aboutSize(aws.ToString(r.Message)):
			return fmt.Errorf("%w: item %d of the transaction: %s", store.ErrTooLarge, i, aws.ToString(r.Message))
		default:
			all = append(all, fmt.Sprintf("item %d: %s: %s", i, code, aws.ToString(r.Message)))
		}
	}
	refusals := slices.ContainsFunc(no.parts, func(p part) bool { return p.failed })
	if len(all) > 0 || !refusals {
		return fmt.Errorf("the transaction was cancelled: %s", cmp.Or(strings.Join(all, "; "), "no reason was given"))
	}
	return no
}

// throttled says what was too much, and for which table or index.
func throttled(message string, reasons []types.ThrottlingReason) error {
	var all []string
	for _, r := range reasons {
		all = append(all, fmt.Sprintf("%s of %s", aws.ToString(r.Reason), aws.ToString(r.Resource)))
	}
	if len(all) == 0 {
		return fmt.Errorf("DynamoDB throttles: %s", message)
	}
	return fmt.Errorf("DynamoDB throttles: %s (%s)", message, strings.Join(all, ", "))
}
