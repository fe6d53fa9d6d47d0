package task_test

import (
	"pgregory.net/rapid"

	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// world is a world under the monitor's eyes.
type world struct {
	tasktest.World
	watch *monitor
	wakes []task.Millis // when wake-ups come
	seen  *sightings
}

// handle lets an instance decide an event, under the monitor's eyes.
func (w *world) handle(rt *rapid.T, e task.Event) task.Decision {
	d, err := decideTwice(w.Flow, w.Task, e, w.Now)
	if err != nil {
		rt.Fatalf("%s: %v", e.Kind, err)
	}
	if err := w.watch.check(observation{was: w.Task, is: d.Task, e: e, now: task.At(w.Now), d: d}); err != nil {
		rt.Fatalf("%s by %s at %d: %v", e.Kind, e.By, task.At(w.Now), err)
	}
	w.Task = d.Task
	w.seen.add(e.Kind, d)
	for _, wake := range d.Wakes {
		w.wakes = append(w.wakes, task.At(w.Now.Add(wake.Delay)))
	}
	return d
}

// submitAny begins a world with a submission.
func submitAny(rt *rapid.T, seen *sightings) *world {
	w := &world{World: tasktest.World{Flow: tasktest.Workflow(rt), Now: noon()}, seen: seen}
	w.watch = newMonitor(w.Flow)
	w.handle(rt, tasktest.Submission(rt, submission(w.Flow)))
	return w
}
