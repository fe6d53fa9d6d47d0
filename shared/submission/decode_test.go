package submission_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/submission"
	"triad/shared/task"
)

func TestAGoodSubmissionIsDecoded(t *testing.T) {
	t.Parallel()
	got, err := submission.Decode([]byte(` {"id":"o-1","workflow":"order@1","order":{"a":[1, "ü🚚\u0000"]},"responseQueue":"shop","tenant":"acme"}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := task.Submission{ID: "o-1", Workflow: "order@1", Order: json.RawMessage(`{"a":[1, "ü🚚\u0000"]}`), ResponseQueue: "shop", Tenant: "acme"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
}

// bad are bodies that can't be accepted, with the field at fault and what the
// problem says. Every one goes through Decode, then Submit, as a message does.
var bad = []struct {
	name, body, field, says string
	tooLarge                bool
}{
	{"nothing", ``, "", "ends too early", false},
	{"white space", " \n", "", "ends too early", false},
	{"not JSON", `order please`, "", "not JSON", false},
	{"cut off", `{"id":"o-1","order":{"tot`, "", "ends too early", false},
	{"a comma too many", `{"id":"o-1",}`, "", "at byte 13", false},
	{"null", `null`, "id", "empty", false},
	{"an array", `[1]`, "", "submission is a JSON array: an object is needed", false},
	{"a string", `"o-1"`, "", "submission is a JSON string: an object is needed", false},
	{"a number as id", `{"id":7}`, "id", "is a JSON number: a string is needed", false},
	{"an object as workflow", `{"id":"o-1","workflow":{}}`, "workflow", "is a JSON object: a string is needed", false},
	{"a boolean as tenant", `{"id":"o-1","tenant":true}`, "tenant", "is a JSON bool", false},
	{"an unknown field", `{"id":"o-1","oder":{}}`, "oder", "is not known: a submission has id, workflow, order", false},
	{"a second value", `{"id":"o-1"} {"id":"o-2"}`, "", "one submission per message", false},
	{"trailing bytes", good("o-1") + "x", "", "something follows", false},
	{"bytes that are no UTF-8", "{\"id\":\"o-1\",\"note\":\"\xff\"}", "", "not UTF-8", false},
	{"half a character", "\"\xc3", "", "not UTF-8", false},
	{"one byte too many", `{"id":"` + strings.Repeat("x", queue.MaxBody-6), "", "262145 bytes", true},
	{"10,000 arrays", order("o-1", strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)), "", "deeper than 100", false},
	{"10,000 objects that never end", strings.Repeat(`{"a":`, 10_000), "", "deeper than 100", false},
	{"101 levels", order("o-1", strings.Repeat("[", 100)+strings.Repeat("]", 100)), "", "deeper than 100", false},

	{"no id", `{"workflow":"order","order":{"total":1}}`, "id", "empty", false},
	{"an id too long", good(strings.Repeat("x", task.MaxID+1)), "id", "129 characters: at most 128", false},
	{"an id that is a path", good("../../etc/passwd"), "id", "position 1", false},
	{"an id with a slash", good("a/b"), "id", "'/' at position 2", false},
	{"an id with a line feed", good(`a\n2026 ERROR`), "id", "position 2", false},
	{"an id that is a command", good("a;rm -rf $HOME"), "id", "';'", false},
	{"an id with markup", good("<script>"), "id", "'<'", false},
	{"an id that looks like a flag", good("--force"), "id", "position 1", false},
	{"an id with NUL", good(`a\u0000`), "id", "position 2", false},
	{"an id in another alphabet", good("о-1"), "id", "position 1", false},
	{"a hostile response queue", `{"id":"o-1","workflow":"order","order":{"total":1},"responseQueue":"a b"}`, "responseQueue", "' '", false},
	{"a response queue too long", `{"id":"o-1","workflow":"order","order":{"total":1},"responseQueue":"` + strings.Repeat("q", 81) + `"}`, "responseQueue", "81 characters: at most 80", false},
	{"a hostile tenant", `{"id":"o-1","workflow":"order","order":{"total":1},"tenant":"../x"}`, "tenant", "position 1", false},
	{"no order", `{"id":"o-1","workflow":"order"}`, "order", "is missing", false},
	{"an order too large", order("o-1", `{"note":"`+strings.Repeat("x", task.MaxOrder)+`"}`), "order", "at most 180224", true},
	{"no workflow", `{"id":"o-1","order":{"total":1}}`, "workflow", "is missing", false},
	{"an unknown workflow", `{"id":"o-1","workflow":"odrer","order":{"total":1}}`, "workflow", `"odrer"; there are order`, false},
	{"an unknown version", `{"id":"o-1","workflow":"order@9","order":{"total":1}}`, "workflow", "order@9", false},
	{"a version that is no number", `{"id":"o-1","workflow":"order@x","order":{"total":1}}`, "workflow", "whole number", false},
	{"a workflow of 100 KB", `{"id":"o-1","workflow":"` + strings.Repeat("w", 100<<10) + `","order":{"total":1}}`, "workflow", "no such workflow", false},
	{"a version of 100 KB", `{"id":"o-1","workflow":"order@` + strings.Repeat("w", 100<<10) + `","order":{"total":1}}`, "workflow", "no such workflow", false},
	{"an order that is null", order("o-1", `null`), "order", "does not fit", false},
	{"an order without a total", order("o-1", `{}`), "order", "total", false},
	{"a total below zero", order("o-1", `{"total":-1}`), "order", "/total", false},
	{"a total that is a text", order("o-1", `{"total":"5"}`), "order", "/total", false},
	{"a field that the schema has not", order("o-1", `{"total":1,"totl":1}`), "order", "totl", false},
	{"a number out of range", order("o-1", `{"total":1e999}`), "order", "1e999", false},
}

func good(id string) string { return order(id, `{"total":1}`) }

func order(id, order string) string {
	return `{"id":"` + id + `","workflow":"order","order":` + order + `}`
}

func TestWhatCanNotBeAcceptedNamesTheFieldAndTheProblem(t *testing.T) {
	t.Parallel()
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			sub, err := submission.Decode([]byte(c.body))
			if err == nil {
				_, err = rig.Start("one").Submission.Submit(context.Background(), sub)
			}
			var invalid *submission.InvalidError
			if !errors.Is(err, submission.ErrInvalid) || !errors.As(err, &invalid) {
				t.Fatalf("error is %v, want an InvalidError", err)
			}
			if invalid.Field != c.field || !strings.Contains(invalid.Problem, c.says) || invalid.TooLarge != c.tooLarge {
				t.Errorf("field %q, problem %q, too large %v; want field %q, %q in the problem, %v",
					invalid.Field, cut(invalid.Problem), invalid.TooLarge, c.field, c.says, c.tooLarge)
			}
			if len(invalid.Error()) > 1000 {
				t.Errorf("the error has %d bytes: it repeats the input", len(invalid.Error()))
			}
			if rig.Table.Writes() != 0 {
				t.Error("something was written")
			}
		})
	}
}

func cut(s string) string { return s[:min(len(s), 300)] }

func TestNestingOf100LevelsIsAccepted(t *testing.T) {
	t.Parallel()
	if _, err := submission.Decode([]byte(order("o-1", strings.Repeat("[", 99)+`"[[[\"[["`+strings.Repeat("]", 99)))); err != nil {
		t.Error(err)
	}
}

// FuzzDecode checks that no body makes Decode panic, that its errors are all of
// one kind, and that what it accepts is the same when it is encoded and decoded.
func FuzzDecode(f *testing.F) {
	for _, c := range bad {
		if len(c.body) < 1000 {
			f.Add([]byte(c.body))
		}
	}
	f.Add([]byte(good("o-1")))
	f.Fuzz(func(t *testing.T, body []byte) {
		sub, err := submission.Decode(body)
		if err != nil {
			if !errors.Is(err, submission.ErrInvalid) {
				t.Errorf("error is %v, want an ErrInvalid", err)
			}
			return
		}
		if len(sub.Order) == 0 {
			return // Submit refuses it
		}
		again, err := queue.Encode(sub)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := submission.Decode(again); err != nil || same.Hash() != sub.Hash() || same.ID != sub.ID {
			t.Errorf("%s became %s: %v", body, again, err)
		}
	})
}
