package meter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nod/agent/policy"
	"nod/chat"
	"nod/chat/inbound"
	"nod/llm"
	"nod/memory"
)

// A real Prometheus has each alert of deploy/ fire while its cause lasts, and end
// afterwards. Its minutes are seconds here.
func TestAlertsInPrometheus(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil || os.Getenv("NOD_LONG") == "" {
		t.Skip("without NOD_LONG, or there is no prometheus")
	}
	data, err := os.ReadFile("../../../deploy/prometheus/nod.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules := strings.ReplaceAll(string(data), "24 * 3600", "5")
	rules = regexp.MustCompile(`(for: |\[)(\d+)m`).ReplaceAllString(rules, "${1}${2}s")
	s := newScraped()
	srv := httptest.NewServer(s)
	defer srv.Close()
	s.start(t, srv.Listener.Addr().String(), rules)
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		all[m[1]] = true
	}
	delete(all, "NodDown")
	s.until(t, down, map[string]bool{"NodDown": true})
	s.until(t, ill, all)
	s.until(t, well, map[string]bool{})
}

// States of the scraped nod.
const (
	down int32 = iota
	ill
	well
)

// scraped is a nod with the causes of all alerts, or with none of them.
type scraped struct {
	m          *Meter
	state      atomic.Int32
	scrapes    chan struct{}
	metrics    http.Handler
	platform   inbound.Observe
	sent, lost func(int)

	api   string        // of the Prometheus that scrapes it
	ended chan struct{} // that one
}

func newScraped() *scraped {
	m := New(nil)
	s := &scraped{m: m, scrapes: make(chan struct{}, 1), metrics: promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})}
	m.Know([]policy.Tool{{Tool: llm.Tool{Name: "deploy"}}})
	m.Begin()
	s.platform = m.Connection("slack")
	s.sent, s.lost = m.Spans()
	m.Health(func(context.Context) map[string]any { return map[string]any{"store": when(s.ill(), "full", "ok")} })
	m.Limit(func(context.Context) map[string]float64 {
		return map[string]float64{"per_day": when(s.ill(), 0.9, 0.1)}
	})
	m.Outbox("slack", func() map[string]int { return map[string]int{"answer": when(s.ill(), 200, 0)} })
	m.Servers(func() map[string]bool { return map[string]bool{"github": !s.ill()} })
	m.Oldest(s, []string{"slack"})
	return s
}

func (s *scraped) ill() bool { return s.state.Load() == ill }

func when[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// ServeHTTP has more happen with each scrape.
func (s *scraped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		select {
		case s.scrapes <- struct{}{}:
		default:
		}
	}()
	if s.state.Load() == down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.happen(s.ill())
	s.metrics.ServeHTTP(w, r)
}

// happen is a turn, and all that is measured around it.
func (s *scraped) happen(ill bool) {
	var err error
	run := &memory.Run{Waited: when(ill, 3*time.Second, 0)}
	s.platform.Waited("answer", when(ill, 20*time.Second, 0))
	s.platform.Sockets(2, when(ill, 6, 2))
	if ill {
		err = &llm.Error{Fault: llm.Overloaded}
		run.Log = []memory.Entry{{Body: memory.Failed{Turn: 1}}}
		s.platform.Reconnected()
		s.platform.Limited("chat.postMessage")
		s.lost(1)
		s.m.Observe(run, memory.Entry{Body: memory.Result{Tool: "deploy", State: chat.CallUnknown}})
	} else {
		s.platform.Event()
		s.sent(1)
	}
	store := measuredStore{store{run: run}, s.m}
	_, _ = store.Next(context.Background())
	store.took("commit", time.Now().Add(-when(ill, time.Second, 0)), &err)
	_, _ = s.m.Model(model{err}).Complete(context.Background(), llm.Request{}, nil)
	s.m.Observe(run, memory.Entry{Body: memory.Ended{Turn: 1}})
}

// store has one thread to run.
type store struct {
	memory.Full
	run *memory.Run
}

func (s store) Next(context.Context, ...string) (*memory.Run, error) { return s.run, nil }

// model fails, or not.
type model struct{ err error }

func (m model) Complete(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return llm.Response{}, m.err
}

// Pending has an approval wait for long while nod is ill.
func (s *scraped) Pending(context.Context, string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) {
		if s.ill() {
			yield(memory.PendingApproval{Call: "c"}, nil)
		}
	}
}

func (s *scraped) Tail(context.Context, chat.ThreadID, uint64) (memory.Tail, error) {
	return memory.Tail{Log: []memory.Entry{{At: time.Now().Add(-time.Hour), Body: memory.Asked{Call: "c", Tool: "deploy"}}}}, nil
}

// mostScrapes is after how many scrapes, one a second, a test gives up.
const mostScrapes = 600

// until waits, with nod in a state, until exactly these alerts fire. It looks after each scrape.
func (s *scraped) until(t *testing.T, state int32, want map[string]bool) {
	t.Helper()
	s.state.Store(state)
	var now map[string]bool
	for range mostScrapes {
		select {
		case <-s.scrapes:
		case <-s.ended:
			t.Fatal("prometheus ended")
		}
		if now = s.firing(t); maps.Equal(now, want) {
			return
		}
	}
	t.Fatalf("in state %d %v fire, want %v", state, now, want)
}

// firing asks Prometheus which alerts fire.
func (s *scraped) firing(t *testing.T) map[string]bool {
	t.Helper()
	r, err := http.Get(s.api + "/api/v1/alerts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	now := map[string]bool{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			now[a.Labels["alertname"]] = true
		}
	}
	return now
}

// start starts a Prometheus that scrapes an address.
func (s *scraped) start(t *testing.T, target, rules string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nod.rules.yml": rules,
		"prometheus.yml": `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [nod.rules.yml]
scrape_configs: [{job_name: nod, static_configs: [{targets: ["` + target + `"]}]}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0")
	cmd.Dir = dir
	log, err := cmd.StderrPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan struct{})
	t.Cleanup(func() {
		<-s.ended
		_ = cmd.Wait()
	})
	lines, said := bufio.NewReader(log), ""
	for s.api == "" {
		line, err := lines.ReadString('\n')
		if said += line; err != nil {
			close(s.ended)
			t.Fatalf("prometheus ended: %v\n%s", err, said)
		}
		if m := regexp.MustCompile(`msg="Listening on" address=(\S+)`).FindStringSubmatch(line); m != nil {
			s.api = "http://" + m[1]
		}
	}
	go func() {
		defer close(s.ended)
		_, _ = io.Copy(io.Discard, lines)
	}()
}
