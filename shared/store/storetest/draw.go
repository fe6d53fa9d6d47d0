package storetest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// shardsDrawn are some shards, and held ones.
var shardsDrawn = []int{0, 1, 3, 15, task.HeldShard(0), task.HeldShard(3), task.HeldShard(15)}

// drawTask makes a task of version 1 that no Decide has to have made. It keeps what
// all stores rest on: one that is not finished is due; steps have names of their own.
func drawTask(rt *rapid.T, id task.ID, op string) task.Task {
	v := task.Task{
		ID: id, Op: op, Version: 1, Workflow: tasktest.Pick(rt, "workflow", "order@1", "order@2", "orders@1", "order", "@"),
		State: drawState(rt), LockedBy: drawText(rt, "locked by"), Deadline: drawMillis(rt, "deadline"),
		FailureCount: rapid.IntRange(0, 1_000).Draw(rt, "failures"), Goal: drawState(rt), Reason: drawText(rt, "reason"),
		Paused: rapid.Bool().Draw(rt, "paused"), Owing: rapid.Bool().Draw(rt, "owing"),
		Shard: tasktest.Pick(rt, "shard", shardsDrawn...), ResponseQueue: drawText(rt, "queue"),
		Tenant: drawText(rt, "tenant"), Resubmits: rapid.IntRange(0, 3).Draw(rt, "resubmits"), OrderHash: drawText(rt, "hash"),
		CreatedAt: created, Order: drawOutput(rt),
	}
	if v.State.Finished() {
		v.EndedAt = drawMillis(rt, "ended")
	}
	if !v.State.Finished() || v.Owing {
		v.CompleteBy = created + task.Millis(rapid.IntRange(0, 5).Draw(rt, "complete by")*1_000)
	}
	for i := range rapid.IntRange(0, 4).Draw(rt, "steps") {
		v.Steps = append(v.Steps, drawStep(rt, i))
	}
	return v
}

func drawStep(rt *rapid.T, i int) task.StepState {
	return task.StepState{
		Name:  fmt.Sprint(tasktest.Pick(rt, "name", "s", "#", ":", "a.b", "😀\x00", "output/", `"`), i),
		State: drawState(rt), LockedBy: drawText(rt, "step locked by"), CompleteBy: drawMillis(rt, "step complete by"),
		Attempt: rapid.IntRange(0, 9).Draw(rt, "attempt"), FailureCount: rapid.IntRange(0, 9).Draw(rt, "step failures"),
		Waits: rapid.IntRange(0, 2).Draw(rt, "waits"), Doubt: rapid.Bool().Draw(rt, "doubt"), Undo: rapid.Bool().Draw(rt, "undo"),
		Signalled: rapid.Bool().Draw(rt, "signalled"), StartedAt: drawMillis(rt, "started"), EndedAt: drawMillis(rt, "step ended"),
		Rank: rapid.Int64Range(-1, 1<<62).Draw(rt, "rank"), Error: drawText(rt, "error"), Output: drawOutput(rt),
	}
}

func drawState(rt *rapid.T) task.State {
	return tasktest.Pick(rt, "state", task.Pending, task.Processing, task.Processed, task.Error, task.Compensating,
		task.Compensated, task.Cancelled, task.Skipped, "", "unknown")
}

func drawText(rt *rapid.T, label string) string {
	return tasktest.Pick(rt, label, "", "one", "two", "'; DROP TABLE tasks; --", "\"\\\n\t\x00\x7f", "😀\u2028", "cut \xf0\x9f", "null")
}

// drawMillis is absent, the creation, before it, soon after it or long after it.
func drawMillis(rt *rapid.T, label string) task.Millis {
	return tasktest.Pick(rt, label, 0, created, created-1, created+1_357, created+86_400_000, later)
}

// drawOutput makes outputs, and orders, of every way in which they are kept.
func drawOutput(rt *rapid.T) json.RawMessage {
	return tasktest.Pick(rt, "output", nil, json.RawMessage{}, json.RawMessage(`{"id": 7}`), json.RawMessage("{oops"),
		json.RawMessage("null"), json.RawMessage(" \xff\xfe"), body(task.InlineOutput), body(task.InlineOutput+1), body(2_000),
		json.RawMessage("\xff"+string(body(300))), body(task.MaxOutput))
}
