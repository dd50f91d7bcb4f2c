package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
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

	"github.com/prometheus/client_golang/prometheus"

	"nod/cmd/bot/config"
	"nod/cmd/bot/meter"
	"nod/memory"
)

// readiness is a platform that is connected or not.
type readiness struct {
	platform
	ready bool
}

// Ready implements platform.
func (r *readiness) Ready() bool { return r.ready }

func fetchPage(t testing.TB, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// /readyz tells the truth about the store and every platform, /healthz only that
// the process is alive, and /metrics counts what was committed.
func TestHealth(t *testing.T) {
	t.Parallel()
	cfg := config.Default(func(string) (string, bool) { return "", false })
	cfg.Store.Path = filepath.Join(t.TempDir(), "nod.db")
	p, err := assemble(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	slack := &readiness{}
	srv := httptest.NewServer(p.health(map[string]platform{"slack": slack}))
	defer srv.Close()

	if code, body := fetchPage(t, srv.URL+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "slack") {
		t.Errorf("readyz before the platform is connected: %d %q", code, body)
	}
	slack.ready = true
	if code, _ := fetchPage(t, srv.URL+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz when all is connected: %d", code)
	}
	run := &memory.Run{Log: []memory.Entry{{Body: memory.Stopped{Turn: 1}}, {Seq: 2, At: time.Unix(100, 0)}}}
	for _, b := range []memory.Body{
		memory.Step{},
		memory.Result{Tool: "clock", State: "done"},
		memory.Result{Tool: "private words of a conversation", State: "failed", Took: 1},
		memory.Result{Tool: "no_such\ntool", State: "failed"},
		memory.Decided{Outcome: "Approved"},
		memory.Ended{Turn: 1},
		memory.Ended{Turn: 2},
	} {
		p.meter.Observe(run, memory.Entry{At: time.Unix(103, 0), Body: b})
	}
	o := p.meter.Connection("slack")
	o.Event()
	o.Waited("steps", 2*time.Second)
	o.Sockets(2, 4)
	o.Sockets(1, 0)
	for i := range 1000 {
		o.Limited(fmt.Sprintf("chat.postMessage C%d", i))
		o.Limited(fmt.Sprintf("%d", i))
	}
	_, body := fetchPage(t, srv.URL+"/metrics")
	if strings.Contains(body, "private") || strings.Contains(body, "no_such") {
		t.Error("/metrics holds what a model wrote")
	}
	lint(t, body)
	if n := strings.Count(body, "\nnod_rate_limited_total{"); n > meter.MostBuckets+1 {
		t.Errorf("/metrics has %d series of buckets", n)
	}
	for _, want := range []string{
		"nod_steps_total 1", `nod_tool_calls_total{outcome="done",tool="clock"} 1`, `nod_approvals_total{outcome="approved"} 1`,
		`nod_turns_total{outcome="failed"} 0`, `nod_approvals_total{outcome="denied"} 0`, `nod_tool_calls_total{outcome="failed",tool="clock"} 0`, `nod_model_calls_total{model="llm",outcome="ok"} 0`,
		`nod_tool_calls_total{outcome="failed",tool="unknown"} 2`, `nod_rate_limited_total{bucket="chat.postMessage",platform="slack"} 1000`,
		`nod_tool_calls_total{outcome="outcome unknown",tool="clock"} 0`, `nod_store_errors_total{operation="commit"} 0`,
		`nod_ready{part="store"} 1`, `nod_ready{part="slack"} 1`, `nod_approvals_waiting{platform="slack"} 0`, `nod_build_info{commit=`,
		`nod_turns_total{outcome="stopped"} 1`, `nod_turns_total{outcome="answered"} 1`, "nod_queue_wait_seconds", "nod_turn_seconds_sum 3\n",
		`nod_events_total{platform="slack"} 1`, `nod_last_event_timestamp_seconds{platform="slack"} 1.`, `nod_outbox_wait_seconds_sum{platform="slack",priority="steps"} 2`, "go_goroutines",
		`nod_sockets{platform="slack"} 1`, `nod_app_sockets{platform="slack"} 4`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	p.close()
	if code, body := fetchPage(t, srv.URL+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "store") {
		t.Errorf("readyz when the store is gone: %d %q", code, body)
	}
	if code, _ := fetchPage(t, srv.URL+"/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
}

// lint has Prometheus' own tool read metrics, where it is installed.
func lint(t *testing.T, metrics string) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(metrics)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// When the service ends its listener does, too.
func TestListenEnds(t *testing.T) {
	t.Parallel()
	p := &program{meter: meter.New(nil), log: slog.New(slog.DiscardHandler), cfg: &config.Config{HTTP: &config.HTTP{Listen: "127.0.0.1:0"}}}
	l, _, err := p.bind(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.listen(ctx, l, nil); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// eager is a platform that notes that it is to connect.
type eager struct {
	readiness
	began atomic.Bool
}

// Run implements platform.
func (e *eager) Run(context.Context) error {
	e.began.Store(true)
	return nil
}

// A service that can't have its address connects nowhere, and begins nothing that would
// have to end with it: whoever starts it again and again does not use up a platform's
// sessions, or calls of the model.
func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	cfg := config.Default(func(string) (string, bool) { return "", false })
	cfg.Store.Path, cfg.HTTP = filepath.Join(t.TempDir(), "nod.db"), &config.HTTP{Listen: l.Addr().String()}
	p, err := assemble(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	slack := &eager{}
	if err := p.serve(t.Context(), map[string]platform{"slack": slack}, nil, reload{}); err == nil || !strings.Contains(err.Error(), "http.listen") {
		t.Errorf("it ends with %v", err)
	}
	if slack.began.Load() {
		t.Error("it connects although it can't go on")
	}
}

// Every metric is in the docs, and the docs have no other.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	m := meter.New(nil)
	described := make(chan *prometheus.Desc, 1000)
	m.Registry.Describe(described)
	close(described)
	name := regexp.MustCompile(`nod_[a-z_]+`)
	there := map[string]bool{"nod_outbox_depth": true, "nod_mcp_up": true, "nod_model_waiting": true, "nod_alerts_total": true, // made with what they are of
		"nod_spans_total": true, "nod_build_info": true, "nod_ready": true, "nod_approvals_waiting": true, "nod_approvals_oldest_seconds": true, "nod_limit_used_ratio": true}
	for d := range described {
		if n := name.FindString(d.String()); n != "" {
			there[n] = true
		}
	}
	for n := range there {
		if !strings.Contains(string(text), "| `"+n+"` |") {
			t.Errorf("%s is not in docs/metrics.md", n)
		}
	}
	for _, n := range name.FindAllString(string(text), -1) {
		if !there[n] {
			t.Errorf("docs/metrics.md has %s, which there is not", n)
		}
	}
}
