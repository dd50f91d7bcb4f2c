package meter

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Begin makes the series that are known beforehand, so that each is there with a
// zero before the first event, and a rate of it sees that event
// (https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics).
func (m *Meter) Begin() {
	for _, outcome := range []string{"answered", "stopped", "limited", "failed"} {
		m.turns.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"begun", "skipped"} {
		m.slots.WithLabelValues(outcome)
	}
	for _, outcome := range []chat.Outcome{chat.Approved, chat.Denied, chat.Expired, chat.Cancelled} {
		m.approvals.WithLabelValues(strings.ToLower(string(outcome)))
	}
	for _, model := range append(slices.Collect(maps.Keys(m.models)), firstModel) {
		for _, fault := range []llm.Fault{"ok", "cancelled", llm.Unreachable, llm.Overloaded, llm.Timeout, llm.Auth, llm.TooLong, llm.Refused, llm.Malformed, llm.Filtered} {
			m.calls.WithLabelValues(model, string(fault))
		}
		m.callTime.WithLabelValues(model)
	}
	for _, op := range []string{"put", "put_ref", "next", "commit", "finish"} {
		m.storeErrs.WithLabelValues(op)
	}
	for _, kind := range []string{"prompt", "cached", "completion"} {
		m.tokens.WithLabelValues(kind)
	}
	for name := range m.known {
		for _, state := range []chat.CallState{chat.CallDone, chat.CallFailed, chat.CallDenied, chat.CallExpired, chat.CallCancelled, chat.CallUnknown} {
			m.tools.WithLabelValues(name, string(state))
		}
	}
}

// Build says which build this is.
func (m *Meter) Build(version, commit string) {
	promauto.With(m.Registry).NewGauge(prometheus.GaugeOpts{
		Name: "nod_build_info", Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "goversion": runtime.Version()},
	}).Set(1)
}

// Health exports the state of /readyz.
func (m *Meter) Health(state func(context.Context) map[string]any) {
	m.reads("nod_ready", "Whether the store, or a platform, can be used, as /readyz says.", "part", 0, func(ctx context.Context) map[string]float64 {
		out := map[string]float64{}
		for part, is := range state(ctx) {
			if part != "ready" {
				out[part] = zeroOrOne(is == "ok")
			}
		}
		return out
	})
}

// Waiting shows how many approvals wait, of all processes that share the store.
func (m *Meter) Waiting(count func(context.Context) map[string]float64) {
	m.reads("nod_approvals_waiting", "Approvals that wait for a decision, of all processes that share the store.", "platform", readEvery, count)
}

// Limit shows the used share of a limit of today, of all processes that share the store.
func (m *Meter) Limit(share func(context.Context) map[string]float64) {
	m.reads("nod_limit_used_ratio", "The used share of a limit of today, of all processes that share the store.", "limit", readEvery, share)
}

// Spans counts sent and lost spans.
func (m *Meter) Spans() (sent, lost func(int)) {
	c := promauto.With(m.Registry).NewCounterVec(prometheus.CounterOpts{Name: "nod_spans_total", Help: "Spans, by what came of them."}, []string{"outcome"})
	count := func(outcome string) func(int) {
		counter := c.WithLabelValues(outcome)
		return func(n int) { counter.Add(float64(n)) }
	}
	return count("sent"), count("lost")
}

// Alerts counts alerts by what became of them; of each name it begins with zero.
func (m *Meter) Alerts(names []string) func(alert, outcome string) {
	c := promauto.With(m.Registry).NewCounterVec(prometheus.CounterOpts{Name: "nod_alerts_total", Help: "Alerts, and refused POSTs, by what became of them."}, []string{"alert", "outcome"})
	for _, name := range names {
		for _, outcome := range []memory.AlertAs{memory.AlertBegins, memory.AlertHeld, memory.AlertAgain, memory.AlertLate, memory.AlertResolved, "refused"} {
			c.WithLabelValues(name, string(outcome))
		}
	}
	return func(alert, outcome string) { c.WithLabelValues(alert, outcome).Inc() }
}

// readings is a gauge that is read when somebody asks.
type readings struct {
	desc *prometheus.Desc
	read func(context.Context) map[string]float64 // by label
	keep time.Duration                            // how long a value is good enough

	mu   sync.Mutex
	last map[string]float64
	at   time.Time
}

const (
	readEvery = 5 * time.Second // how long a value of the store is good enough: it may hold very many
	readFor   = 2 * time.Second // how long one is waited for
)

// reads makes a gauge of the values of a label.
func (m *Meter) reads(name, help, label string, keep time.Duration, read func(context.Context) map[string]float64) {
	m.Registry.MustRegister(&readings{desc: prometheus.NewDesc(name, help, []string{label}, nil), read: read, keep: keep})
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements prometheus.Collector.
func (r *readings) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || time.Since(r.at) >= r.keep {
		ctx, cancel := context.WithTimeout(context.Background(), readFor)
		defer cancel()
		r.last, r.at = r.read(ctx), time.Now()
	}
	for label, v := range r.last {
		to <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, v, label)
	}
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Servers shows which MCP servers are connected.
func (m *Meter) Servers(up func() map[string]bool) {
	for name := range up() {
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nod_mcp_up", Help: "Whether an MCP server is connected.", ConstLabels: prometheus.Labels{"server": name},
		}, func() float64 { return zeroOrOne(up()[name]) }))
	}
}
