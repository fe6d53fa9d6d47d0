package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/remote"
)

// shop is the services behind a real socket.
type shop struct {
	*remote.Services
	remote.Client
	url string
}

func open(t *testing.T, c remote.Config) shop {
	t.Helper()
	s := remote.New(c)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return shop{s, remote.Client{BaseURL: srv.URL, HTTP: srv.Client()}, srv.URL}
}

// do makes a call: "PUT inventory/o-1 key body"; the answer is "201 body".
func (s shop) do(t *testing.T, call string) string {
	t.Helper()
	code, body, err := s.try(t, call)
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return strings.TrimSpace(fmt.Sprint(code, " ", body))
}

func (s shop) try(t *testing.T, call string) (code int, body string, err error) {
	t.Helper()
	part := append(strings.SplitN(call, " ", 4), "", "")
	req, err := http.NewRequestWithContext(t.Context(), part[0], s.url+"/"+part[1], strings.NewReader(part[3]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", part[2])
	resp, err := s.HTTP.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(text)), err
}

func TestEffectsOfCalls(t *testing.T) {
	t.Parallel()
	created := `201 {"id":"o-1","service":"inventory"}`
	tests := map[string]struct {
		calls  []string // call -> start of the answer
		effect remote.Effect
		sum    remote.Summary
	}{
		"create": {[]string{"PUT inventory/o-1 k", created},
			remote.Effect{Calls: 1, Applied: 1, Created: true}, remote.Summary{Calls: 1, Effects: 1, Applied: 1}},
		"a duplicate is absorbed": {[]string{"PUT inventory/o-1 k", created, "PUT inventory/o-1 k", "204"},
			remote.Effect{Calls: 2, Applied: 1, Created: true}, remote.Summary{Calls: 2, Effects: 1, Applied: 1, Duplicates: 1}},
		"another key applies it twice": {[]string{"PUT inventory/o-1 k", created, "PUT inventory/o-1 other", "204", "PUT inventory/o-1 k", "204"},
			remote.Effect{Calls: 3, Applied: 2, Created: true}, remote.Summary{Calls: 3, Effects: 1, Applied: 2, Duplicates: 1}},
		"without a key the id counts": {[]string{"PUT inventory/o-1", created, "PUT inventory/o-1", "204"},
			remote.Effect{Calls: 2, Applied: 1, Created: true}, remote.Summary{Calls: 2, Effects: 1, Applied: 1, Duplicates: 1}},
		"undo": {[]string{"PUT inventory/o-1 k", created, "DELETE inventory/o-1 k/undo", "204"},
			remote.Effect{Calls: 2, Applied: 1, Created: true, Undone: true}, remote.Summary{Calls: 2, Undone: 1, Applied: 1}},
		"undo twice": {[]string{"PUT inventory/o-1 k", created, "DELETE inventory/o-1 u", "204", "DELETE inventory/o-1 u", "204"},
			remote.Effect{Calls: 3, Applied: 1, Created: true, Undone: true}, remote.Summary{Calls: 3, Undone: 1, Applied: 1, Duplicates: 1}},
		"late duplicate after undo": {[]string{"PUT inventory/o-1 k", created, "DELETE inventory/o-1 u", "204", "PUT inventory/o-1 k", "410 was undone before"},
			remote.Effect{Calls: 3, Applied: 1, Created: true, Undone: true}, remote.Summary{Calls: 3, Undone: 1, Applied: 1, Refused: 1}},
		"undo overtakes the call": {[]string{"DELETE inventory/o-1 u", "204", "PUT inventory/o-1 k", "410 was undone before"},
			remote.Effect{Calls: 2, Undone: true}, remote.Summary{Calls: 2, Tombstones: 1, Refused: 1}},
		"body is remembered by its digest": {[]string{"PUT inventory/o-1 k hello", created},
			remote.Effect{Calls: 1, Applied: 1, Created: true, Digest: "2cf24dba5fb0a30e26e83b2ac5b9e29e"}, remote.Summary{Calls: 1, Effects: 1, Applied: 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, remote.Config{})
			for i := 0; i < len(tc.calls); i += 2 {
				if got, want := s.do(t, tc.calls[i]), tc.calls[i+1]; !strings.HasPrefix(got, want) {
					t.Fatalf("%s: got %s, want %s", tc.calls[i], got, want)
				}
			}
			tc.effect.ID = "o-1"
			effects, err := s.Client.Effects(t.Context(), "inventory")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]remote.Effect{tc.effect}, effects); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			sums, err := s.Client.Summary(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.sum, sums["inventory"]); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if len(sums) != len(remote.Names()) || sums["payment"] != (remote.Summary{}) {
				t.Errorf("got %v, want every service, the others untouched", sums)
			}
			if diff := cmp.Diff(sums, s.Services.Summary(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("summary in process (-http +here):\n%s", diff)
			}
		})
	}
}

func TestAccountsAreAsked(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	for call, want := range map[string]string{
		"GET accounts/a-1":       `200 {"id":"a-1","service":"accounts"}`,
		"GET accounts/blocked-1": "403 account is blocked",
	} {
		if got := s.do(t, call); got != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
	want := remote.Summary{Calls: 2, Refused: 1}
	if diff := cmp.Diff(want, s.Services.Summary()["accounts"]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestOneEffectCanBeRead(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	s.do(t, "PUT drones/d%2F1 k")
	if got, want := s.do(t, "GET drones/d%2F1"), `200 {"id":"d/1","calls":1,"applied":1,"created":true,"undone":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	e, err := s.Services.Effects("drones")
	if err != nil || len(e) != 1 || !e[0].Stands() {
		t.Errorf("got %+v and %v, want one effect that stands", e, err)
	}
}

func TestCallsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	for call, want := range map[string]string{
		"PUT bakery/o-1":                            `404 no service "bakery": use one of inventory, payment`,
		"GET bakery":                                `404 no service "bakery"`,
		"GET inventory/o-1":                         "404 inventory has never been called for this id",
		"POST inventory/o-1":                        "405",
		"GET faults/inventory":                      "404 no service",
		"PUT inventory/" + strings.Repeat("x", 513): "400 id has more than 512 bytes",
		"PUT inventory/o-1 k " + strings.Repeat("x", (1<<20)+1): "413 body has more than 1048576 bytes",
	} {
		if got := s.do(t, call); !strings.HasPrefix(got, want) {
			t.Errorf("%.40s: got %s, want %s", call, got, want)
		}
	}
	if _, err := s.Services.Effects("bakery"); err == nil {
		t.Error("an unknown service has effects")
	}
	if _, err := s.Client.Effects(t.Context(), "bakery"); err == nil || !strings.Contains(err.Error(), "answered 404: no service") {
		t.Errorf("got %v, want the service's words", err)
	}
	if got := s.Services.Summary()["inventory"]; got != (remote.Summary{}) {
		t.Errorf("got %+v, want nothing counted", got)
	}
}

func TestCallsAtTheSameTimeApplyOnce(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 20 {
				if code, _, err := s.try(t, fmt.Sprintf("PUT payment/o-%d o-%d/charge", i, i)); err != nil || code > 204 {
					t.Errorf("got %d, %v", code, err)
				}
			}
		})
	}
	all.Wait()
	want := remote.Summary{Calls: 160, Effects: 20, Applied: 20, Duplicates: 140}
	if diff := cmp.Diff(want, s.Services.Summary()["payment"]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}
