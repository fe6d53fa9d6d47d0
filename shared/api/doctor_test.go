package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/api/apitest"
	"triad/shared/doctor"
	"triad/shared/queue"
	"triad/shared/store"
)

func TestAnExaminationTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"o-1","workflow":"order","order":{}}`)
	sound := decode[api.Examination](t, do(t, d, 200, "GET", "/v1/doctor?full=true", ""))
	if !sound.Healthy || !sound.Full || len(sound.Checks) != len(doctor.Names()) || sound.At.Time() != apitest.Now {
		t.Errorf("a sound deployment: %+v", sound)
	}
	if err := d.Store.Reject(t.Context(), store.Rejected{Queue: queue.Submissions, Body: []byte("?"), Reason: "no JSON"}); err != nil {
		t.Fatal(err)
	}
	report := decode[api.Examination](t, do(t, d, 200, "GET", "/v1/doctor", ""))
	var got []api.Check
	for _, c := range report.Checks {
		if c.Status == doctor.Found {
			got = append(got, c)
		}
	}
	want := []api.Check{{Name: doctor.DeadLetters, Status: doctor.Found, Looked: 1, Of: "queues", Found: 1,
		Examples: []api.Finding{{ID: queue.Submissions, What: "messages waiting: 1"}},
		Action:   "triad rejected shows them with the reason; resend or dismiss each"}}
	if diff := cmp.Diff(want, got); diff != "" || report.Healthy || report.Full {
		t.Errorf("healthy %v, full %v, findings (-want +got):\n%s", report.Healthy, report.Full, diff)
	}
}

// asked notes what it is asked for.
type asked struct{ options *doctor.Options }

func (a asked) Examine(_ context.Context, o doctor.Options) (doctor.Report, error) {
	*a.options = o
	return doctor.Report{}, nil
}

func TestAnExaminationIsWhatItsParametersSay(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]doctor.Options{
		"": {}, "?full=true": {Full: true}, "?integrity=true&full=false": {Integrity: true}, "?full=true&integrity=true": {Full: true, Integrity: true},
	} {
		var got doctor.Options
		d := apitest.New(t, func(c *api.Config) { c.Doctor = asked{&got} })
		do(t, d, 200, "GET", "/v1/doctor"+query, "")
		if got != want {
			t.Errorf("%q asks for %+v, want %+v", query, got, want)
		}
	}
	d := apitest.New(t, nil)
	do(t, d, 400, "GET", "/v1/doctor?full=perhaps", "")
	do(t, d, 400, "GET", "/v1/doctor?deep=true", "")
}

func TestAServerWithoutADoctorSaysSo(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(c *api.Config) { c.Doctor = nil })
	do(t, d, 404, "GET", "/v1/doctor", "")
}

func TestHealthTellsWhatTheDoctorFound(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(c *api.Config) { c.Findings = func() int { return 3 } })
	if got, want := strings.TrimSpace(do(t, d, 200, "GET", "/healthz", "").Body.String()), `{"status":"ok","findings":3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
