package record_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

const created = task.Millis(1_700_000_000_000)

// order is the reference task, five steps, as it was created.
func order() task.Task {
	t := task.Task{
		ID: "order-2026-10-17-000001", Workflow: "order@1", State: task.Processing, Version: 1,
		Op: "scheduler-7f9c4d5b6e-x2x9z/18446744", LockedBy: "scheduler-7f9c4d5b6e-x2x9z",
		CompleteBy: created + 10_000, Deadline: created + 86_400_000, Shard: 11,
		ResponseQueue: "order-notices", Tenant: "shop-eu",
		OrderHash: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", CreatedAt: created,
	}
	for _, name := range []string{"reserve", "charge", "pack", "ship", "confirm"} {
		t.Steps = append(t.Steps, task.StepState{Name: name, State: task.Pending})
	}
	return t
}

// with returns the reference task with each step changed.
func with(change func(t *task.Task, i int, s *task.StepState)) task.Task {
	t := order()
	t.Version = 1_234
	for i := range t.Steps {
		change(&t, i, &t.Steps[i])
	}
	return t
}

func processed(i int, s *task.StepState) {
	s.State, s.Attempt = task.Processed, 2
	s.StartedAt, s.EndedAt = created+task.Millis(i)*40_000, created+task.Millis(i)*40_000+31_234
	s.Rank = int64(2 * i)
	s.Output = json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`)
}

func TestReferenceOrderStaysWithinOneKilobyteInEveryPhase(t *testing.T) {
	t.Parallel()
	phases := map[string]task.Task{
		"created": order(),
		"first step live": with(func(_ *task.Task, i int, s *task.StepState) {
			if i == 0 {
				s.State, s.Attempt, s.LockedBy = task.Processing, 1, "scheduler-7f9c4d5b6e-x2x9z"
				s.CompleteBy, s.StartedAt = created+10_000, created
			}
		}),
		"every step live": with(func(_ *task.Task, _ int, s *task.StepState) {
			s.State, s.Attempt, s.LockedBy = task.Processing, 3, "scheduler-7f9c4d5b6e-x2x9z"
			s.CompleteBy, s.StartedAt, s.FailureCount = created+10_000, created+1, 2
		}),
		"last step live": with(func(_ *task.Task, i int, s *task.StepState) {
			if processed(i, s); i == 4 {
				s.State, s.LockedBy, s.CompleteBy, s.EndedAt = task.Processing, "scheduler-7f9c4d5b6e-x2x9z", created+170_000, 0
				s.Output = nil
			}
		}),
		"processed": with(func(_ *task.Task, i int, s *task.StepState) { processed(i, s) }),
		"failed at the last step": with(func(t *task.Task, i int, s *task.StepState) {
			if processed(i, s); i == 4 {
				s.State, s.FailureCount, s.Doubt, s.Error, s.Output = task.Error, 4, true, strings.Repeat("e", task.MaxError), nil
				t.State, t.Reason, t.CompleteBy, t.FailureCount = task.Error, "confirm: "+s.Error[:60], 0, 4
			}
		}),
		"being undone": with(func(t *task.Task, i int, s *task.StepState) {
			processed(i, s)
			t.State, t.Goal, t.Reason = task.Compensating, task.Compensated, "charge: card declined"
			s.State, s.Undo = task.Compensated, true
			if i == 0 {
				s.State, s.LockedBy, s.CompleteBy = task.Compensating, "scheduler-7f9c4d5b6e-x2x9z", created+200_000
			}
		}),
	}
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := record.Append(nil, phase)
			if len(b) > 1_024 {
				t.Errorf("record has %d bytes, want at most 1,024: %s", len(b), b)
			}
			got, aside, err := record.Decode(b)
			if err != nil || len(aside) > 0 {
				t.Fatalf("Decode: aside %v, error %v", aside, err)
			}
			if diff := cmp.Diff(got, phase); diff != "" {
				t.Errorf("Decode (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRoundTripOfAnyTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := anyTask(t)
		b := record.Append([]byte("before"), given)
		if !strings.HasPrefix(string(b), "before") {
			t.Fatalf("Append changed what was there: %q", b)
		}
		if b = b[len("before"):]; !json.Valid(b) || !utf8.Valid(b) {
			t.Fatalf("the record is not JSON in UTF-8: %q", b)
		}
		got, aside, err := record.Decode(b)
		if err != nil {
			t.Fatalf("Decode(%s): %v", b, err)
		}
		want := record.Normal(given).Clone()
		want.Order = nil
		var wantAside []int
		for i := range want.Steps {
			if record.Aside(want.Steps[i]) {
				want.Steps[i].Output = nil
				wantAside = append(wantAside, i)
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("Decode (-got +want):\n%s", diff)
		}
		if diff := cmp.Diff(aside, wantAside); diff != "" {
			t.Errorf("aside (-got +want):\n%s", diff)
		}
	})
}

func TestEveryFieldIsInTheRecord(t *testing.T) {
	t.Parallel()
	given := task.Task{Steps: make([]task.StepState, 1)}
	for _, v := range []reflect.Value{reflect.ValueOf(&given).Elem(), reflect.ValueOf(&given.Steps[0]).Elem()} {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.String:
				f.SetString("text of " + v.Type().Field(i).Name)
			case reflect.Int, reflect.Int64:
				f.SetInt(int64(i + 1))
			case reflect.Bool:
				f.SetBool(true)
			}
		}
	}
	given.Steps[0].Output = json.RawMessage(`"text"`)
	got, _, err := record.Decode(record.Append(nil, given))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, given); diff != "" {
		t.Errorf("Decode (-got +want):\n%s", diff)
	}
}

func TestNormalLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	given := order()
	given.Reason = "bad \xff byte"
	given.Steps[2].Error = "worse \xc3"
	kept := given.Clone()
	got := record.Normal(given)
	if diff := cmp.Diff(given, kept); diff != "" {
		t.Errorf("the argument changed:\n%s", diff)
	}
	if got.Reason != "bad \uFFFD byte" || got.Steps[2].Error != "worse \uFFFD" {
		t.Errorf("got reason %q and error %q, want the bad bytes replaced", got.Reason, got.Steps[2].Error)
	}
}

func TestOutputsSurviveToTheByte(t *testing.T) {
	t.Parallel()
	inline := strings.Repeat("9", task.InlineOutput)
	tests := map[string]struct {
		output string
		aside  bool
	}{
		"object":              {output: `{"id": "r-1",	"n":[1, -2.5e+10, true, null ]}`},
		"null":                {output: `null`},
		"space around":        {output: " {}\n"},
		"not JSON":            {output: "hello"},
		"two values":          {output: "{}{}"},
		"leading zero":        {output: "01"},
		"cut":                 {output: `{"a":`},
		"bad escape":          {output: `"\x"`},
		"control character":   {output: "\"\x00\""},
		"HTML":                {output: `"<a href='x'>&</a>"`},
		"emoji and escapes":   {output: `"😀 \ud83d\ude00 \" \\"`},
		"lone surrogate":      {output: `"\ud83d"`},
		"invalid UTF-8":       {output: "\"\xff\""},
		"deep":                {output: strings.Repeat("[", 60) + strings.Repeat("]", 60)},
		"as large as inlined": {output: inline},
		"one byte larger":     {output: inline + "9", aside: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := order()
			given.Steps[1].Output = json.RawMessage(test.output)
			got, aside, err := record.Decode(record.Append(nil, given))
			if err != nil {
				t.Fatal(err)
			}
			if (len(aside) == 1) != test.aside {
				t.Fatalf("aside is %v, want it to name the step: %v", aside, test.aside)
			}
			if want := test.output; !test.aside && string(got.Steps[1].Output) != want {
				t.Errorf("got %q, want %q", got.Steps[1].Output, want)
			}
		})
	}
}

// TestWhatALaterVersionAddsIsNoDamage: while a new version of Triad is rolled out, the
// old one reads what the new one wrote.
func TestWhatALaterVersionAddsIsNoDamage(t *testing.T) {
	t.Parallel()
	got, _, err := record.Decode([]byte(`{"i":"a","v":1,"later":{"x":[1]},"st":[{"n":"s","later":true}]}`))
	want := task.Task{ID: "a", Version: 1, Steps: []task.StepState{{Name: "s"}}}
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("Decode: error %v (-got +want):\n%s", err, diff)
	}
}

func TestDamagedBytesAreRefused(t *testing.T) {
	t.Parallel()
	good := string(record.Append(nil, order()))
	tests := map[string]string{
		"nothing":        "",
		"cut":            good[:len(good)/2],
		"zeroes":         strings.Repeat("\x00", 100),
		"another object": `{"a":1}`,
		"no version":     `{"i":"order-1"}`,
		"wrong type":     `{"i":"order-1","v":"1"}`,
		"too large":      `{"i":"order-1","v":99999999999999999999}`,
		"array":          `[1]`,
		"trailing":       good + "x",
		"bad base64":     `{"i":"order-1","v":1,"st":[{"o64":"*"}]}`,
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := record.Decode([]byte(b)); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("got %v, want %v", err, store.ErrDamaged)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(record.Append(nil, order()))
	f.Add([]byte(`{"i":"a","v":1,"st":[{"n":"s","out":null,"big":true,"b":0}]}`))
	f.Add([]byte(`{"i":"a","v":1,"c":9223372036854775807,"st":[{"b":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, aside, err := record.Decode(b)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("got %v, want %v", err, store.ErrDamaged)
			}
			return
		}
		for _, i := range aside {
			if first.Steps[i].Output != nil {
				t.Fatalf("step %d has an output inside and aside", i)
			}
		}
		again, _, err := record.Decode(record.Append(nil, first))
		for i := range first.Steps {
			if record.Aside(first.Steps[i]) {
				first.Steps[i].Output = nil
			}
		}
		if diff := cmp.Diff(again, record.Normal(first)); err != nil || diff != "" {
			t.Fatalf("decoding what was encoded again: %v\n%s", err, diff)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	given := with(func(_ *task.Task, i int, s *task.StepState) { processed(i, s) })
	var dst []byte
	for b.Loop() {
		dst = record.Append(dst[:0], given)
	}
	b.ReportMetric(float64(len(dst)), "bytes")
}

func BenchmarkDecode(b *testing.B) {
	given := record.Append(nil, with(func(_ *task.Task, i int, s *task.StepState) { processed(i, s) }))
	for b.Loop() {
		if _, _, err := record.Decode(given); err != nil {
			b.Fatal(err)
		}
	}
}
