package scheduler_test

import (
	"testing"

	"triad/shared/scheduler"
)

func TestTheKeyOfAMessageIsItsTask(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"wake-up":         {`{"wake":{"task":"o-1"}}`, "o-1"},
		"reply":           {`{"reply":{"task":"o-2","step":"reserve","attempt":1,"lockedBy":"s-1","outcome":"succeeded"}}`, "o-2"},
		"heartbeat":       {`{"extend":{"task":"o-3","step":"reserve","attempt":1,"lockedBy":"s-1","completeBy":1}}`, "o-3"},
		"none of them":    {`{}`, ""},
		"unknown field":   {`{"wake":{"task":"o-1"},"to":"you"}`, ""},
		"id that is none": {`{"wake":{"task":"../x"}}`, ""},
		"not JSON":        {`wake o-1`, ""},
		"empty":           {``, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := scheduler.Key([]byte(tc.body)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
