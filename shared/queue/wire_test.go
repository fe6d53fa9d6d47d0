package queue

import (
	"encoding/json"
	"reflect"
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
		if got, plain := plainRequest(EncodeRequest(&r)); !plain || cmp.Diff(r, got) != "" {
			t.Fatalf("plain %v, diff %s", plain, cmp.Diff(r, got))
		}
		if got, plain := plainToScheduler(EncodeReply(p)); !plain || cmp.Diff(p, got.Reply) != "" {
			t.Fatalf("plain %v, diff %s", plain, cmp.Diff(p, got.Reply))
		}
	})
}

func TestOurEncodersSayWhatPackageJSONSays(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(word, rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		r, p := request(t), reply(t)
		r.Step, r.LockedBy, r.Tenant = text.Draw(t, "step"), text.Draw(t, "owner"), text.Draw(t, "tenant")
		p.Error = text.Draw(t, "error")
		checkSame(t, EncodeRequest(&r), encoded(r))
		checkSame(t, EncodeReply(p), encoded(ToScheduler{Reply: p}))
	})
}

func TestEveryFieldIsEncoded(t *testing.T) {
	t.Parallel()
	odd := "a\"\\\x01é<\u2028"
	p := task.Reply{Task: "o-1", Step: odd, Undo: true, Attempt: 7, LockedBy: odd, Outcome: task.Outcome(odd),
		Output: json.RawMessage(`{"a":[1,"é"]}`), Error: odd, Doubt: true, RetryAfterMs: 12}
	r := task.Request{Task: "o-1", Workflow: odd, Step: odd, Agent: odd, Undo: true, Attempt: 7, LockedBy: odd,
		CompleteBy: 9, Key: odd, Input: json.RawMessage(`[1]`), Output: json.RawMessage(`{"a":2}`), Tenant: odd}
	gotReply, err := DecodeToScheduler(EncodeReply(&p))
	if err != nil {
		t.Fatal(err)
	}
	gotRequest, err := DecodeRequest(EncodeRequest(&r))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, *gotReply.Reply) + cmp.Diff(r, gotRequest); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	// A new field has to be added above, to the encoders and to the plain
	// readers.
	for _, v := range []reflect.Value{reflect.ValueOf(p), reflect.ValueOf(r)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("field %s of %s is not covered", v.Type().Field(i).Name, v.Type())
			}
		}
	}
}

func checkSame(t *rapid.T, got, want []byte) {
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Fatalf("(-json +ours)\n%s", diff)
	}
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
		Error: word.Draw(t, "error"), Doubt: rapid.Bool().Draw(t, "doubt"), RetryAfterMs: rapid.Int64Range(1, 1<<40).Draw(t, "retry"),
	}
}
