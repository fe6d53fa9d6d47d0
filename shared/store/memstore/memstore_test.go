package memstore_test

import (
	"testing"

	"triad/shared/store/memstore"
	"triad/shared/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		s := memstore.New()
		return storetest.Harness{Store: s, Ledger: s, Walker: s, KeepsTold: true}
	})
}
