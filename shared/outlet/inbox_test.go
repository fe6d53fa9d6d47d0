package outlet_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/shared/store"
	"triad/shared/task"
)

// reject captures messages, each in a millisecond of its own: those of one may have
// the same number.
func (r *rig) reject(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if err := r.out.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte(body), Reason: "why"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Millisecond)
	}
}

// pass moves the clock of the cloud; that of a server goes by itself.
func (r *rig) pass(d time.Duration) {
	if r.cloud != nil {
		r.cloud.pass(d)
		return
	}
	for over := time.Now().Truncate(time.Millisecond).Add(d); time.Now().Before(over); {
		runtime.Gosched()
	}
}

// rejections are the bodies of a page, and the number of its last.
func (r *rig) rejections(t *testing.T, after int64, limit int) (bodies string, last int64) {
	t.Helper()
	page, err := r.in.Rejections(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range page {
		bodies += string(one.Body) + " "
		if one.Seq <= last {
			t.Errorf("number %d comes after %d", one.Seq, last)
		}
		last = one.Seq
	}
	return strings.TrimSpace(bodies), last
}

// TestRejectionsArePagedAndDismissed, as the handlers of the API do it: a look
// hides nothing from the next, and what is dismissed is gone.
func TestRejectionsArePagedAndDismissed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, r *rig) {
		bodies, _ := r.rejections(t, 0, 10)
		equal(t, "at first", bodies, "")
		var sent []string
		for n := range 23 {
			sent = append(sent, fmt.Sprint("m-", n))
		}
		r.reject(t, sent...)
		var paged []string
		var last int64
		for {
			bodies, next := r.rejections(t, last, 10)
			if bodies == "" {
				break
			}
			paged, last = append(paged, strings.Fields(bodies)...), next
		}
		equal(t, "paged", paged, sent)
		if last >= 1<<53 {
			t.Errorf("the number %d is more than JSON holds", last)
		}

		again, same := r.rejections(t, last-1, 1) // as resend reads it
		equal(t, "read again", []any{again, same}, []any{paged[len(paged)-1], last})
		for range 2 { // the second time it is gone, which is no error
			if err := r.in.Dismiss(t.Context(), last); err != nil {
				t.Fatal(err)
			}
		}
		rest, _ := r.rejections(t, 0, 100)
		equal(t, "rest", rest, strings.Join(paged[:len(paged)-1], " "))
	})
}

func TestNoticesAreReadAndAcknowledged(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, r *rig) {
		want := []task.Notice{told("shop", "o-1"), told("shop", "o-2"), told("shop", "o-3")}
		for _, n := range append(want, told("depot", "o-9")) {
			if err := r.out.Notify(t.Context(), []task.Notice{n}); err != nil {
				t.Fatal(err)
			}
			r.pass(time.Millisecond)
		}
		page, err := r.in.Mail().Notices(t.Context(), "shop", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]task.Notice{}
		for _, k := range page {
			got[k.ID] = k.Notice
		}
		equal(t, "notices", got, map[string]task.Notice{want[0].ID: want[0], want[1].ID: want[1], want[2].ID: want[2]})
		for _, k := range page[:2] {
			if err := r.in.Mail().Acknowledge(t.Context(), "shop", k.Seq); err != nil {
				t.Fatal(err)
			}
		}
		if r.cloud != nil {
			equal(t, "deletes", len(r.cloud.made("DeleteMessage")), 2)
			equal(t, "receives of the last", r.cloud.queues[shopURL][0].receives, 1)
		}
		rest, err := r.in.Mail().Notices(t.Context(), "shop", 0, 10)
		if err != nil || len(rest) != 1 || rest[0].ID != page[2].ID || rest[0].Seq != page[2].Seq {
			t.Errorf("then there are %v, %v; want %v", rest, err, page[2])
		}
	})
}

// TestWhatIsNotANotice, in a queue that is the application's, is not shown, not
// deleted, and takes no place on a page.
func TestWhatIsNotANotice(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.in.InboxConfig.Rejected = shopURL // whose Dismiss deletes anything
	out := *r.out
	out.Rejected = shopURL
	for _, body := range []string{"hello", `{"id":"x"}`, `[]`, `{"id":7}`} {
		if err := out.Reject(t.Context(), store.Rejected{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Millisecond)
	}
	if err := r.out.Notify(t.Context(), []task.Notice{told("shop", "o-1")}); err != nil {
		t.Fatal(err)
	}
	page, err := r.in.Mail().Notices(t.Context(), "shop", 0, 1)
	if err != nil || len(page) != 1 || page[0].Task != "o-1" {
		t.Fatalf("got %v, %v; want the notice of o-1", page, err)
	}
	all, err := r.in.Rejections(t.Context(), 0, 10)
	if err != nil || len(all) != 5 {
		t.Fatalf("there are %d messages, %v; want 5", len(all), err)
	}
	for _, one := range all[:4] {
		if err := r.in.Mail().Acknowledge(t.Context(), "shop", one.Seq+1); err != nil {
			t.Error(err)
		}
		r.pass(time.Minute) // so that it looks
		if err := r.in.Mail().Acknowledge(t.Context(), "shop", one.Seq); err != nil {
			t.Error(err)
		}
	}
	equal(t, "still there", len(r.read(t, shopURL)), 5)
}

func TestWhatAnInboxCanNotAnswerSaysWhatToDo(t *testing.T) {
	t.Parallel()
	r := inMemory()
	const unknown = `this deployment has no response queue "shp": there are depot, shop`
	_, notices := r.in.Mail().Notices(t.Context(), "shp", 0, 1)
	_, alerts := r.in.Mail().Alerts(t.Context(), 0, 1)
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"notices":     {notices, unknown},
		"acknowledge": {r.in.Mail().Acknowledge(t.Context(), "shp", 1), unknown},
		"alerts": {alerts, "alerts are not kept on AWS, they are published to the topic " + topic +
			": subscribe to it to get them; `triad list --state Error` shows the tasks that need a person"},
	} {
		if !errors.Is(c.err, store.ErrUnsupported) {
			t.Errorf("%s: error is %v, want %v", what, c.err, store.ErrUnsupported)
		}
		equal(t, what, text(c.err), c.want)
	}
}

func TestAQueueThatHasTooMuchIsNotListed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10_000, 10_001} {
		r := inMemory()
		for range n {
			r.cloud.put(rejectedURL, "x")
		}
		_, err := r.in.Rejections(t.Context(), 0, 1)
		if n == 10_000 {
			equal(t, "error", text(err), "")
		} else {
			equal(t, "error", text(err), "queue rejected has more than 10000 messages, which is too many to list: read it with a program, or purge it")
		}
		if errors.Is(err, store.ErrUnsupported) != (n > 10_000) {
			t.Errorf("error is %v", err)
		}
		equal(t, "visible", r.cloud.visible(rejectedURL), n)
	}
}

// TestMessagesOfTheSameNumber: of two that were sent in the same millisecond and
// whose ids have the same checksum, none is deleted by mistake.
func TestMessagesOfTheSameNumber(t *testing.T) {
	t.Parallel()
	r := inMemory()
	first, second := collision()
	r.cloud.id = func(n int) string { return []string{first, second, "other"}[n-1] }
	for _, body := range []string{"a", "b", "c"} {
		r.cloud.put(rejectedURL, body)
	}
	all, err := r.in.Rejections(t.Context(), 0, 10)
	if err != nil || len(all) != 3 {
		t.Fatalf("there are %v, %v; want 3", all, err)
	}
	count := map[int64]int{}
	for _, one := range all {
		count[one.Seq]++
	}
	for seq, n := range count {
		err := r.in.Dismiss(t.Context(), seq)
		if n == 1 && err != nil || n == 2 && !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("dismissing one of %d: %v", n, err)
		}
	}
	equal(t, "left", r.read(t, rejectedURL), []letter{{"a", map[string]string{}}, {"b", map[string]string{}}})
}

// collision finds two ids whose checksums end in the same 12 bits.
func collision() (first, second string) {
	ids := map[uint32]string{}
	for n := 0; ; n++ {
		id := fmt.Sprint("id-", n)
		sum := crc32.ChecksumIEEE([]byte(id)) & 0xfff
		if ids[sum] != "" {
			return ids[sum], id
		}
		ids[sum] = id
	}
}

// TestMessagesThatSomebodyElseHasAreNotSeen until they are visible again, and
// then have the number that they had.
func TestMessagesThatSomebodyElseHasAreNotSeen(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a", "b")
	_, before := r.rejections(t, 0, 10)
	r.cloud.hide(rejectedURL, time.Minute)
	bodies, _ := r.rejections(t, 0, 10)
	equal(t, "while hidden", bodies, "")
	if err := r.in.Dismiss(t.Context(), before); err != nil {
		t.Error(err)
	}
	r.pass(2 * time.Minute)
	bodies, after := r.rejections(t, 0, 10)
	equal(t, "later", []any{bodies, after}, []any{"a b", before})
}

// TestALookInBetween makes the receipts of the one before worthless: they are not
// used, whatever it found.
func TestALookInBetween(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*rig) error{
		"found nothing": func(r *rig) error { return r.in.Dismiss(t.Context(), 1) },
		"failed": func(r *rig) error {
			r.cloud.delivered = func() {
				r.cloud.fault = func(op, _ string) (error, error) {
					if op == "ReceiveMessage" {
						return errReset, nil
					}
					return nil, nil
				}
			}
			if _, err := r.in.Rejections(t.Context(), 0, 10); err == nil {
				return errors.New("the look did not fail")
			}
			r.cloud.delivered, r.cloud.fault = nil, nil
			return nil
		},
	} {
		r := inMemory()
		r.reject(t, "a", "b")
		_, last := r.rejections(t, 0, 10)
		if err := between(r); err != nil {
			t.Fatal(err)
		}
		if err := r.in.Dismiss(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		equal(t, name+": left", len(r.read(t, rejectedURL)), 1)
	}
}

// TestLooksAtTheSameTime do not hide messages from each other.
func TestLooksAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a", "b")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if page, err := r.in.Rejections(t.Context(), 0, 10); err != nil || len(page) != 2 {
				t.Errorf("a look saw %d messages, %v; want 2", len(page), err)
			}
		})
	}
	all.Wait()
}

// TestAReceiptThatIsOld is not used: somebody else may have received the message
// since, and the delete would do nothing.
func TestAReceiptThatIsOld(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a", "b")
	_, last := r.rejections(t, 0, 10)
	r.cloud.hide(rejectedURL, time.Second)
	r.pass(time.Minute)
	if err := r.in.Dismiss(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	bodies, _ := r.rejections(t, 0, 10)
	equal(t, "left", bodies, "a")
}

// TestFaultsOfALook: they are told, or do no harm, and nothing stays hidden
// longer than a look's timeout.
func TestFaultsOfALook(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		op            string
		before, after error
		err           string
		left          string // what is listed later
	}{
		"receive lost":        {"ReceiveMessage", errReset, nil, "looking into queue rejected: no answer from SQS: " + errReset.Error(), "a b"},
		"received, lost":      {"ReceiveMessage", nil, errReset, "looking into queue rejected: no answer from SQS: " + errReset.Error(), "a b"},
		"denied":              {"ReceiveMessage", fail("AccessDeniedException", "no policy"), nil, "looking into queue rejected: access denied: the role needs sqs:ReceiveMessage on it, and the use of its key when it has one: no policy", "a b"},
		"delete lost":         {"DeleteMessage", errReset, nil, "deleting from queue rejected: no answer from SQS: " + errReset.Error(), "a b"},
		"deleted, lost":       {"DeleteMessage", nil, errReset, "deleting from queue rejected: no answer from SQS: " + errReset.Error(), "a"},
		"deleted by somebody": {"DeleteMessage", fail("ReceiptHandleIsInvalid", "no"), nil, "", "a b"},
		"release lost":        {"ChangeMessageVisibilityBatch", errReset, nil, "", "a"},
		"released, lost":      {"ChangeMessageVisibilityBatch", nil, errReset, "", "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			r.reject(t, "a", "b")
			_, last := r.rejections(t, 0, 10)
			r.pass(time.Minute) // so that Dismiss looks again
			r.cloud.fault = func(op, _ string) (error, error) {
				if op == c.op {
					return c.before, c.after
				}
				return nil, nil
			}
			equal(t, "error", text(r.in.Dismiss(t.Context(), last)), c.err)
			r.cloud.fault = nil
			r.pass(31 * time.Second)
			bodies, _ := r.rejections(t, 0, 10)
			equal(t, "left", bodies, c.left)
		})
	}
}

// TestAMessageThatComesTwiceInALook is listed once, and deleted by the receipt
// that came last.
func TestAMessageThatComesTwiceInALook(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a", "b")
	_, last := r.rejections(t, 0, 10)
	again := 3
	r.cloud.delivered = func() {
		if again--; again >= 0 {
			r.cloud.now = r.cloud.now.Add(time.Minute)
		}
	}
	bodies, _ := r.rejections(t, 0, 10)
	equal(t, "listed", bodies, "a b")
	r.pass(time.Minute)
	again = 3
	if err := r.in.Dismiss(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	equal(t, "left", len(r.read(t, rejectedURL)), 1)
}

func TestALookThatIsGivenUpHidesNothing(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	r.cloud.delivered = cancel
	if _, err := r.in.Rejections(ctx, 0, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
	equal(t, "visible", r.cloud.visible(rejectedURL), 2)
}
