package sqsqueue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"triad/shared/queue"
	"triad/shared/queue/refusal"
)

// maxGroup is how long the name of a group may be.
const maxGroup = 128

// check says why a message can't be sent, on any try. One such message in a call
// would make SQS refuse it, or the whole call, in words that name neither the
// message nor the place.
func check(m queue.Message) error {
	switch {
	case len(m.Body) == 0:
		return errors.New("message body is empty: every message has a body")
	case len(m.Body) > queue.MaxBody:
		return fmt.Errorf("message body has %d bytes, at most %d are allowed: %w", len(m.Body), queue.MaxBody, queue.ErrTooLarge)
	case m.Delay < 0 || m.Delay > queue.MaxDelay:
		return fmt.Errorf("message delay is %v: it must be 0 to %v", m.Delay, queue.MaxDelay)
	}
	return checkText(m.Body)
}

// checkText names the first place of a body that is not text to SQS.
func checkText(body []byte) error {
	for at := 0; at < len(body); {
		r, size := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("message body is not UTF-8 at byte %d: send text", at)
		}
		if !refusal.Carries(r) {
			return fmt.Errorf("message body has the character %U at byte %d, which SQS refuses: escape it as JSON does", r, at)
		}
		at += size
	}
	return nil
}

// groupID is the group as SQS takes it: itself when it is printable ASCII
// without spaces and short enough, otherwise a hash. Fairness only needs that
// different groups differ.
func groupID(group string) string {
	illegal := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(group) <= maxGroup && !strings.ContainsFunc(group, illegal) {
		return group
	}
	sum := sha256.Sum256([]byte(group))
	return "sha256:" + hex.EncodeToString(sum[:])
}
