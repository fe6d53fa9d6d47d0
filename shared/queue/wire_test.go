package queue

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"triad/shared/task"
)

// What the fast reader accepts, the strict one accepts, and they agree.
func checkAgrees[T any](t *rapid.T, body []byte, fast func([]byte) (T, bool)) {
	got, plain := fast(body)
	if !plain {
		return
	}
	var want T
	if err := decodeStrictly(body, &want); err != nil {
		t.Fatalf("%s: read as plain, but: %v", body, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: (-strict +plain)\n%s", body, diff)
	}
}

func TestThePlainReadersAgreeWithTheStrictOneOnDamagedMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SampledFrom([][]byte{encoded(request(t)), encoded(ToScheduler{Reply: reply(t)}),
			encoded(ToScheduler{Wake: &Wake{Task: "a", Redeliver: true}})}).Draw(t, "body")
		for range rapid.IntRange(0, 3).Draw(t, "damages") {
			at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				body[at] = rapid.SampledFrom([]byte(`{}[]",:0e1 \tn`)).Draw(t, "byte")
			case 1:
				body = append(body[:at:at], body[at+1:]...)
			default:
				body = append(body[:at:at], append([]byte(`,"task":"x"`), body[at:]...)...)
			}
			if len(body) == 0 {
				return
			}
		}
		checkAgrees(t, body, plainRequest)
		checkAgrees(t, body, plainToScheduler)
	})
}

func TestWhatWeEncodeWithoutEscapesIsReadAsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, p := request(t), reply(t)
		if got, plain := plainRequest(encoded(r)); !plain || cmp.Diff(r, got) != "" {
			t.Fatalf("plain %v, diff %s", plain, cmp.Diff(r, got))
		}
		if got, plain := plainToScheduler(encoded(ToScheduler{Reply: p})); !plain || cmp.Diff(p, got.Reply) != "" {
			t.Fatalf("plain %v, diff %s", plain, cmp.Diff(p, got.Reply))
		}
	})
}

func TestATrailingCommaIsNotPlain(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"task":"a",}`, `{"wake":{"task":"a",}}`, `{,}`, `{"wake":{}}x`} {
		if _, plain := plainToScheduler([]byte(body)); plain {
			t.Errorf("%s was read as plain", body)
		}
		if _, plain := plainRequest([]byte(body)); plain {
			t.Errorf("%s was read as a plain request", body)
		}
	}
}

func encoded(v any) []byte {
	body, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return body
}

var (
	word  = rapid.StringMatching(`[a-z0-9:.-]{1,20}`)
	value = rapid.SampledFrom([]string{`1`, `"a b"`, `{"a":[1,{"b":"}\""}]}`, `[]`, `null`, `-1.5e3`})
)

func request(t *rapid.T) task.Request {
	return task.Request{
		Task: task.ID(word.Draw(t, "task")), Workflow: word.Draw(t, "workflow"), Step: word.Draw(t, "step"),
		Agent: word.Draw(t, "agent"), Undo: rapid.Bool().Draw(t, "undo"), Attempt: rapid.IntRange(1, 99).Draw(t, "attempt"),
		LockedBy: word.Draw(t, "owner"), CompleteBy: task.Millis(rapid.Int64Range(1, 1<<50).Draw(t, "by")),
		Key: word.Draw(t, "key"), Input: json.RawMessage(value.Draw(t, "input")), Tenant: word.Draw(t, "tenant"),
	}
}

func reply(t *rapid.T) *task.Reply {
	return &task.Reply{
		Task: task.ID(word.Draw(t, "task")), Step: word.Draw(t, "step"), Attempt: rapid.IntRange(1, 99).Draw(t, "attempt"),
		LockedBy: word.Draw(t, "owner"), Outcome: task.FailedTransiently, Output: json.RawMessage(value.Draw(t, "output")),
		Error: word.Draw(t, "error"), RetryAfterMs: rapid.Int64Range(1, 1<<40).Draw(t, "retry"),
	}
}
