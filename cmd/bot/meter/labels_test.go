package meter

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Names that come from outside, however many, make no more series of metrics than one
// of each does.
func TestFloodOfNames(t *testing.T) {
	t.Parallel()
	m := New(nil)
	m.Know([]policy.Tool{{Tool: llm.Tool{Name: "clock"}}})
	m.Models(maps.Keys(map[string]bool{"spare": true}))
	m.Begin()
	run := &memory.Run{Log: []memory.Entry{{Body: memory.Stopped{Turn: 1}}}}
	limited := m.Connection("slack").Limited
	flood := func(n int) {
		name := fmt.Sprintf("name %d of a \U0001F480 page", n)
		for _, b := range []memory.Body{
			memory.Step{Model: name, Calls: []memory.Call{{ID: name, Tool: name, Args: name}}},
			memory.Result{Call: name, Tool: name, State: chat.CallFailed, Text: name, Took: 1},
			memory.Result{Call: name, Tool: "clock", State: chat.CallDone, Artifacts: []chat.File{{Name: name, MediaType: name}}, Took: 1},
			memory.Vote{By: chat.User{ID: chat.UserID(name), Name: name}, Reason: name},
			memory.Decided{Call: name, Outcome: chat.Denied, Reason: name},
			memory.Failed{Turn: uint64(n), Reason: name},
			memory.Ended{Turn: uint64(n)},
		} {
			m.Observe(run, memory.Entry{Body: b})
		}
		_, _ = m.Model(model{}).Complete(t.Context(), llm.Request{Model: name}, nil)
		limited(fmt.Sprintf("POST /channels %d", n))
	}
	_, _ = m.Model(model{}).Complete(t.Context(), llm.Request{Model: "spare"}, nil)
	flood(1)
	one := series(t, m)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, name := range []string{"spare", "llm"} {
		if want := `nod_model_calls_total{model="` + name + `",outcome="ok"} 1`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is not in\n%s", want, w.Body)
		}
	}
	for n := range 1000 {
		flood(n)
	}
	if many := series(t, m); many > one+1 { // a turn that is stopped, beside those that failed
		t.Errorf("of %d series a thousand names made %d", one, many)
	}
}

// series counts those that are there.
func series(t *testing.T, m *Meter) (n int) {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetName()) > 4 && f.GetName()[:4] == "nod_" {
			n += len(f.GetMetric())
		}
	}
	return n
}
