package plan_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/infra/soak/plan"
	"triad/shared/catalog"
	"triad/shared/remote"
	"triad/shared/submission"
)

var limits = plan.Limits{Length: 10 * time.Minute, Freeze: time.Minute}

func TestASeedRepeatsItsPlan(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(plan.Schedule(7, limits), plan.Schedule(7, limits)); diff != "" {
		t.Errorf("the same seed gives another schedule:\n%s", diff)
	}
	if cmp.Equal(plan.Schedule(7, limits), plan.Schedule(8, limits)) {
		t.Error("another seed gives the same schedule")
	}
	ids := func(seed uint64) (all []string) {
		for o := plan.NewOrders(seed, true); len(all) < 500; {
			all = append(all, string(o.Next().ID))
		}
		return all
	}
	if diff := cmp.Diff(ids(7), ids(7)); diff != "" {
		t.Errorf("the same seed gives other orders:\n%s", diff)
	}
	if cmp.Equal(ids(7), ids(8)) {
		t.Error("another seed gives the same orders")
	}
}

func TestASchedulesActsAreSoundAndInTime(t *testing.T) {
	t.Parallel()
	services := remote.New(remote.Config{})
	for seed := range uint64(50) {
		n := map[plan.Verb]int{}
		var processFree time.Duration
		for _, a := range plan.Schedule(seed, limits) {
			n[a.Verb]++
			if a.At+a.For > limits.Length+limits.Freeze {
				t.Errorf("seed %d: %+v lasts beyond the soak", seed, a)
			}
			if a.Verb != plan.Fault {
				if a.At < processFree {
					t.Errorf("seed %d: %+v comes while another is on", seed, a)
				}
				processFree = a.At + a.For
			}
			if a.Verb == plan.Freeze && (a.For <= 0 || a.For > limits.Freeze) {
				t.Errorf("seed %d: a freeze of %v", seed, a.For)
			}
			if a.Verb == plan.Fault {
				if err := services.SetFaults(a.Service, remote.Faults{Rules: append(plan.Always(a.Service), a.Rules...)}); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}
		for _, v := range []plan.Verb{plan.Kill, plan.Freeze, plan.Fault} {
			if n[v] < 5 {
				t.Errorf("seed %d: %d acts of %s in %v: too few", seed, n[v], v, limits.Length)
			}
		}
	}
}

func TestOrdersFitTheirWorkflows(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := plan.Write(folder, true); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load(os.DirFS(folder), nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for o := plan.NewOrders(1, true); len(kinds) < 11; {
		one := o.Next()
		kinds[one.Kind.Name] = true
		body, err := one.Body()
		if err != nil {
			t.Fatal(err)
		}
		sub, err := submission.Decode(body)
		if one.Kind.Unreadable {
			if err == nil {
				t.Errorf("%s can be read", body)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Definition(sub.Workflow); err != nil {
			t.Errorf("%s: %v", one.ID, err)
		}
		other, err := one.OtherBody()
		if err != nil || one.Kind.Other && string(other) == string(body) {
			t.Errorf("%s: %v: other content is the same", one.ID, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "agents.yaml")); err != nil {
		t.Error(err)
	}
}

func TestWithoutAnswersNoOrderNeedsOne(t *testing.T) {
	t.Parallel()
	o := plan.NewOrders(1, false)
	for range 1000 {
		if one := o.Next(); one.Kind.Other || one.Kind.Cancel {
			t.Fatalf("%s needs an answer", one.ID)
		}
	}
}

func TestTheBoundIsMinutes(t *testing.T) {
	t.Parallel()
	if got, err := plan.Bound(); err != nil || got < time.Minute || got > 5*time.Minute {
		t.Errorf("got %v, %v: want some minutes", got, err)
	}
}
