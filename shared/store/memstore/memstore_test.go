package memstore_test

import (
	"testing"

	"triad/shared/store/memstore"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		s := memstore.New()
		h := storetest.Harness{Store: s, Ledger: s, Walker: s, KeepsTold: true}
		h.Damage = func(_ *testing.T, id task.ID) storetest.Harness {
			s.Damage(id)
			return h
		}
		return h
	})
}
