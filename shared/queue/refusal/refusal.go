// Package refusal reads what SQS and SNS say when they refuse a call, or an entry
// of one: the same codes in other spellings by protocol and stand-in, and what most
// of them ask an operator to do. It keeps the codes of the SDK out of the adapters'
// errors, and is for those alone.
package refusal

import (
	"fmt"
	"strings"
)

// Kind is a code without what differs between protocols and stand-ins, such as
// the prefix of AWS.SimpleQueueService.NonExistentQueue. Where the code only says
// that a value is invalid, the text says which.
func Kind(code, text string) string {
	code = strings.TrimSuffix(code[strings.LastIndexAny(code, ".#")+1:], "Exception")
	if code != "InvalidParameterValue" && code != "InvalidAttributeValue" {
		return code
	}
	for _, told := range []struct{ by, kind string }{
		{"ReceiptHandle is invalid", "ReceiptHandleIsInvalid"},
		{"must be shorter than", "MessageTooLong"},
		{"MessageTooLong", "MessageTooLong"},
		{"InvalidMessageContents", "InvalidMessageContents"},
	} {
		if strings.Contains(text, told.by) {
			return told.kind
		}
	}
	return code
}

// Meaning is what a code says whatever was called: about permissions, credentials
// and throttling, or in the service's own words. service is SQS or SNS, needs the
// permission of IAM that the call asks for.
func Meaning(service, needs, code, text string) error {
	switch Kind(code, text) {
	case "AccessDenied", "KmsAccessDenied", "KMSAccessDenied", "AuthorizationError":
		return fmt.Errorf("access denied: the role needs %s on it, and the use of its key when it has one: %s", needs, text)
	case "InvalidSecurity", "UnrecognizedClient", "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "MissingAuthenticationToken":
		return fmt.Errorf("the credentials are not valid (%s): %s", code, text)
	case "RequestThrottled", "Throttling", "Throttled", "ThrottledRequest", "TooManyRequests", "RequestLimitExceeded", "SlowDown", "KmsThrottled", "KMSThrottling":
		return fmt.Errorf("throttled, try again later (%s): %s", code, text)
	case "OverLimit":
		return fmt.Errorf("too many messages are in flight, delete some first: %s", text)
	default:
		return fmt.Errorf("%s answered %s: %s", service, code, text)
	}
}

// Carries reports the characters that may be in a message: those of XML 1.0. A
// surrogate is none of UTF-8's.
func Carries(r rune) bool {
	switch {
	case r < 0x20:
		return r == '\t' || r == '\n' || r == '\r'
	default:
		return r != 0xFFFE && r != 0xFFFF
	}
}
