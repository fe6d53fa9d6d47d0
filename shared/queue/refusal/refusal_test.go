package refusal_test

import (
	"strings"
	"testing"

	"triad/shared/queue/refusal"
)

func TestOneKindHasManyCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, text, want string }{
		{"AWS.SimpleQueueService.NonExistentQueue", "", "NonExistentQueue"},
		{"com.amazonaws.sqs#QueueDoesNotExist", "", "QueueDoesNotExist"},
		{"AccessDeniedException", "", "AccessDenied"},
		{"InvalidParameterValue", "Value x for parameter ReceiptHandle is invalid.", "ReceiptHandleIsInvalid"},
		{"InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.", "MessageTooLong"},
		{"InvalidAttributeValue", "something else", "InvalidAttributeValue"},
		{"", "", ""},
	} {
		if got := refusal.Kind(c.code, c.text); got != c.want {
			t.Errorf("%s (%s) is %q, want %q", c.code, c.text, got, c.want)
		}
	}
}

func TestAMeaningSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"AuthorizationError":    "access denied: the role needs sns:Publish on it, and the use of its key when it has one: told",
		"ExpiredTokenException": "the credentials are not valid (ExpiredTokenException): told",
		"Throttled":             "throttled, try again later (Throttled): told",
		"KMSThrottling":         "throttled, try again later (KMSThrottling): told",
		"OverLimit":             "too many messages are in flight, delete some first: told",
		"InternalError":         "SNS answered InternalError: told",
	} {
		if got := refusal.Meaning("SNS", "sns:Publish", code, "told").Error(); got != want {
			t.Errorf("%s means %q, want %q", code, got, want)
		}
	}
}

func TestWhatAMessageCarries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a\tb\r\nc": true, "é 漢 😀 \u007f\u0080\ufffd": true, "\x00": false, "\x1b": false, "\ufffe": false, "\uffff": false,
	} {
		illegal := func(r rune) bool { return !refusal.Carries(r) }
		if got := !strings.ContainsFunc(text, illegal); got != want {
			t.Errorf("%q is carried: %v", text, got)
		}
	}
}
