package record_test

import (
	"encoding/json"

	"pgregory.net/rapid"

	"triad/shared/task"
)

// anyText draws control characters, quotes, emoji and bytes that are not UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\x00", "\"\\\n\t\u2028", "😀", "cut \xf0\x9f", "</script>"}),
	)
}

func anyOutput() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		switch rapid.IntRange(0, 4).Draw(t, "kind of output") {
		case 0:
			return nil
		case 1:
			return json.RawMessage{}
		case 2:
			return rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "bytes")
		case 3:
			return json.RawMessage(rapid.SampledFrom([]string{`null`, ` {}`, `"\u0000"`, `[1,2]`, `-0.1e9`}).Draw(t, "JSON"))
		}
		b, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.Float64Range(-1e9, 1e9)).Draw(t, "object"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func anyMillis() *rapid.Generator[task.Millis] {
	return rapid.Map(rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(created)), rapid.Int64()),
		func(n int64) task.Millis { return task.Millis(n) })
}

func anyState() *rapid.Generator[task.State] {
	return rapid.SampledFrom([]task.State{"", task.Pending, task.Processing, task.Processed, task.Error,
		task.Compensating, task.Compensated, task.Cancelled, task.Skipped, "un\xffknown"})
}

func anyStep() *rapid.Generator[task.StepState] {
	return rapid.Custom(func(t *rapid.T) task.StepState {
		return task.StepState{
			Name:         anyText().Draw(t, "Name"),
			State:        anyState().Draw(t, "State"),
			LockedBy:     anyText().Draw(t, "LockedBy"),
			CompleteBy:   anyMillis().Draw(t, "CompleteBy"),
			Attempt:      rapid.Int().Draw(t, "Attempt"),
			FailureCount: rapid.Int().Draw(t, "FailureCount"),
			Waits:        rapid.Int().Draw(t, "Waits"),
			Doubt:        rapid.Bool().Draw(t, "Doubt"),
			Undo:         rapid.Bool().Draw(t, "Undo"),
			Signalled:    rapid.Bool().Draw(t, "Signalled"),
			StartedAt:    anyMillis().Draw(t, "StartedAt"),
			EndedAt:      anyMillis().Draw(t, "EndedAt"),
			Rank:         rapid.Int64().Draw(t, "Rank"),
			Error:        anyText().Draw(t, "Error"),
			Output:       anyOutput().Draw(t, "Output"),
		}
	})
}

func anyTask(t *rapid.T) task.Task {
	return task.Task{
		ID:            task.ID(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`).Draw(t, "ID")),
		Workflow:      anyText().Draw(t, "Workflow"),
		State:         anyState().Draw(t, "State"),
		Version:       rapid.Int64Min(1).Draw(t, "Version"),
		Op:            anyText().Draw(t, "Op"),
		LockedBy:      anyText().Draw(t, "LockedBy"),
		CompleteBy:    anyMillis().Draw(t, "CompleteBy"),
		Deadline:      anyMillis().Draw(t, "Deadline"),
		FailureCount:  rapid.Int().Draw(t, "FailureCount"),
		Steps:         rapid.SliceOfN(anyStep(), 0, 6).Draw(t, "Steps"),
		Goal:          anyState().Draw(t, "Goal"),
		Reason:        anyText().Draw(t, "Reason"),
		Paused:        rapid.Bool().Draw(t, "Paused"),
		Owing:         rapid.Bool().Draw(t, "Owing"),
		Shard:         rapid.Int().Draw(t, "Shard"),
		ResponseQueue: anyText().Draw(t, "ResponseQueue"),
		Tenant:        anyText().Draw(t, "Tenant"),
		Resubmits:     rapid.Int().Draw(t, "Resubmits"),
		OrderHash:     anyText().Draw(t, "OrderHash"),
		CreatedAt:     anyMillis().Draw(t, "CreatedAt"),
		EndedAt:       anyMillis().Draw(t, "EndedAt"),
		Order:         json.RawMessage(`{"kept":"elsewhere"}`),
	}
}
