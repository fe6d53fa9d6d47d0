package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
)

var definitionTests = map[string]func(*testing.T, Harness){
	"a definition is immutable, and listed by name, then version": definitions(func(t *testing.T, h Harness) {
		define := func(name string, version int, source string) error {
			return h.Definitions.Define(t.Context(), store.Definition{Name: name, Version: version, Source: []byte(source)})
		}
		for _, err := range []error{define("order", 2, "b\x00\xff"), define("order", 10, "c"), define("order", 1, "a"),
			define("drone", 1, ""), define("order", 1, "a"), define("drone", 1, "")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, define("order", 1, "changed"), store.ErrDefined)
		wantError(t, define("order", 1, ""), store.ErrDefined)
		wantError(t, define("drone", 1, "changed"), store.ErrDefined)
		h.expectDefinitions(t, store.Definition{Name: "drone", Version: 1}, store.Definition{Name: "order", Version: 1, Source: []byte("a")},
			store.Definition{Name: "order", Version: 2, Source: []byte("b\x00\xff")}, store.Definition{Name: "order", Version: 10, Source: []byte("c")})
	}),

	"of two contents of one version, defined at once, one is kept": definitions(func(t *testing.T, h Harness) {
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				errs[i] = h.Definitions.Define(t.Context(), store.Definition{Name: "order", Version: 1, Source: fmt.Append(nil, i%2)})
			})
		}
		all.Wait()
		kept := 0
		if errs[0] != nil {
			kept = 1
		}
		for i, err := range errs {
			if i%2 == kept && err != nil {
				t.Errorf("what is kept was refused: %v", err)
			} else if i%2 != kept {
				wantError(t, err, store.ErrDefined)
			}
		}
		h.expectDefinitions(t, store.Definition{Name: "order", Version: 1, Source: fmt.Append(nil, kept)})
	}),

	"large definitions are kept to the byte": definitions(func(t *testing.T, h Harness) {
		var want []store.Definition
		for i := range 8 {
			d := store.Definition{Name: "order", Version: i + 1, Source: []byte(strings.Repeat("\x00é\n", 75_000))}
			if err := h.Definitions.Define(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			want = append(want, d)
		}
		h.expectDefinitions(t, want...)
	}),

	"definitions are no tasks": definitions(func(t *testing.T, h Harness) {
		if err := h.Definitions.Define(t.Context(), store.Definition{Name: "order", Version: 1, Source: []byte("a")}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		page, err := h.Store.List(t.Context(), store.ListQuery{Unfinished: true})
		if err != nil || len(page.Tasks) != 0 {
			t.Errorf("List: got %v and error %v, want nothing", page.Tasks, err)
		}
	}),

	"a context that has ended ends it": definitions(func(t *testing.T, h Harness) {
		ctx := cancelled(t)
		wantError(t, h.Definitions.Define(ctx, store.Definition{Name: "order", Version: 1}), context.Canceled)
		if _, err := h.Definitions.Definitions(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Definitions: got %v, want %v", err, context.Canceled)
		}
	}),
}

// definitions is a test for stores that keep them.
func definitions(test func(*testing.T, Harness)) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		if h = h.withDefinitions(); h.Definitions == nil {
			t.Log("not tried: this store declares that it keeps no definitions")
			return
		}
		test(t, h)
	}
}

func (h Harness) withDefinitions() Harness {
	if h.Definitions == nil && h.Ledger != nil {
		h.Definitions = h.Ledger
	}
	return h
}

// expectDefinitions compares what is kept after a restart.
func (h Harness) expectDefinitions(t *testing.T, want ...store.Definition) {
	t.Helper()
	got, err := h.reopened(t).withDefinitions().Definitions.Definitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("Definitions (-got +want):\n%s", diff)
	}
}
