package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
)

func TestRejectedMessagesAreCountedUntilTheyAreDismissed(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	count := func(want int) {
		t.Helper()
		if got, err := s.CountRejected(t.Context()); err != nil || got != want {
			t.Errorf("%d messages are rejected, %v; want %d", got, err, want)
		}
	}
	count(0)
	for range 3 {
		if err := s.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte("x"), Reason: "no JSON", At: 1}); err != nil {
			t.Fatal(err)
		}
	}
	count(3)
	kept, err := s.Rejections(t.Context(), 0, 1)
	if err != nil || len(kept) != 1 {
		t.Fatalf("got %v, %v, want one", kept, err)
	}
	if err := s.Dismiss(t.Context(), kept[0].Seq); err != nil {
		t.Fatal(err)
	}
	count(2)
}
