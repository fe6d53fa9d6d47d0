package api_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/api"
	"triad/shared/store"
)

// slowMail takes a second for each read, and has nothing.
type slowMail struct{ store.Mail }

func (slowMail) Notices(context.Context, string, int64, int) ([]store.KeptNotice, error) {
	<-time.After(time.Second)
	return nil, nil
}

// slowLedger has a slow mailbox.
type slowLedger struct{ store.Ledger }

func (slowLedger) Mail() store.Mail { return slowMail{} }

// TestReadingCountsAsWaiting: a long poll over queues that are slow to read ends
// in time as well, but for the read that is under way.
func TestReadingCountsAsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if w := serve(api.New(api.Config{Ledger: slowLedger{}}), request("GET", "/v1/queues/shop/notices?wait=5s", "")); w.Code != 200 {
			t.Errorf("status is %d, want 200", w.Code)
		}
		if got := time.Since(start); got < 5*time.Second || got > 6200*time.Millisecond {
			t.Errorf("waited %s, want 5s and the rest of a read", got)
		}
	})
}
