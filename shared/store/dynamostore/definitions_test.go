package dynamostore_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
)

func TestADefinitionThatDynamoDBCannotHoldIsTooLarge(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	for name, test := range map[string]struct {
		bytes int
		want  error
	}{
		"fits":                {400_000, nil},
		"just too large":      {400 << 10, store.ErrTooLarge},
		"larger than a write": {20 << 20, store.ErrTooLarge},
	} {
		source := make([]byte, test.bytes)
		for i := range source {
			source[i] = byte(rand.Uint32())
		}
		d := store.Definition{Name: "order", Version: test.bytes, Source: source}
		if err := s.Define(t.Context(), d); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// TestADefinitionIsStoredThoughItsAnswerWasLost: what the first try did, the
// second finds.
func TestADefinitionIsStoredThoughItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	f := &faulty{Client: client}
	s := dynamostore.New(f, config)
	d := store.Definition{Name: "order", Version: 1, Source: []byte("a")}
	for name, fault := range map[string]func(call func() error) error{
		"lost":    func(func() error) error { return errLost },
		"applied": func(call func() error) error { return errors.Join(call(), errLost) },
	} {
		d.Name = name
		f.write = once(fault)
		wantUncertain(t, s.Define(t.Context(), d), name+"@1")
		if err := s.Define(t.Context(), d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := s.Definitions(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("Definitions: got %v and error %v, want two", all, err)
	}
	f.write = func(func() error) error { return failure("AccessDeniedException", "not authorized") }
	wantUncertain(t, s.Define(t.Context(), d), "policy of the role")
}

func TestADamagedDefinitionIsToldAndNotReplaced(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	d := store.Definition{Name: "order", Version: 1, Source: []byte("a")}
	if err := s.Define(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	set(t, client, config, key("/definitions", "order@1"), "Source", &types.AttributeValueMemberN{Value: "1"})
	if err := s.Define(t.Context(), d); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Define: got %v, want %v", err, store.ErrDamaged)
	}
	// The others are found all the same, and whose version is damaged is known.
	for _, version := range []int{2, 10} {
		if err := s.Define(t.Context(), store.Definition{Name: "order", Version: version, Source: []byte("a")}); err != nil {
			t.Fatal(err)
		}
	}
	set(t, client, config, key("/definitions", "order@2"), "Version", &types.AttributeValueMemberS{Value: "x"})
	all, err := s.Definitions(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("Definitions: got %v and error %v, want three", all, err)
	}
	for i, version := range []int{1, 2, 10} {
		d, damaged := all[i], version != 10
		if d.Name != "order" || d.Version != version || errors.Is(d.Err, store.ErrDamaged) != damaged || (len(d.Source) == 0) != damaged {
			t.Errorf("order@%d: got %+v", version, d)
		}
	}
}
