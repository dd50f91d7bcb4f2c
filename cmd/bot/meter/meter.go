// Package meter holds the metrics of a running bot.
package meter

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"nod/agent/policy"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/inbound"
	"nod/llm"
	"nod/llm/queue"
	"nod/memory"
)

// Meter holds the metrics. Most are read off committed entries, and so can't differ
// from the log. Every label is one of a fixed set: a model's or a platform's words
// would make endless series, and reveal conversations.
type Meter struct {
	// Registry gathers them all.
	Registry *prometheus.Registry

	mu      sync.Mutex
	known   map[string]bool // names of tools
	models  map[string]bool // names of further models; set before the first call
	buckets map[string]bool

	turns     *prometheus.CounterVec
	steps     prometheus.Counter
	tools     *prometheus.CounterVec
	toolTime  *prometheus.HistogramVec
	calls     *prometheus.CounterVec
	callTime  *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	cost      prometheus.Counter
	prices    *view.Prices
	approvals *prometheus.CounterVec
	slots     *prometheus.CounterVec
	ignored   prometheus.Counter
	waits     prometheus.Histogram
	turnTime  prometheus.Histogram
	posts     *prometheus.HistogramVec
	storeTime *prometheus.HistogramVec
	storeErrs *prometheus.CounterVec

	events       *prometheus.CounterVec
	lastEvent    *prometheus.GaugeVec
	sockets      *prometheus.GaugeVec
	appSockets   *prometheus.GaugeVec
	reconnects   *prometheus.CounterVec
	redeliveries *prometheus.CounterVec
	duplicates   *prometheus.CounterVec
	malformed    *prometheus.CounterVec
	limited      *prometheus.CounterVec
}

// New makes a meter; prices may be nil.
func New(prices *view.Prices) *Meter {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := promauto.With(r)
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	long := prometheus.ExponentialBuckets(0.01, 2, 15)    // 10 ms to 160 s
	short := prometheus.ExponentialBuckets(0.0001, 2, 16) // 100 µs to 3 s
	return &Meter{
		Registry:  r,
		known:     map[string]bool{},
		models:    map[string]bool{},
		buckets:   map[string]bool{},
		turns:     count("nod_turns_total", "Turns that ended.", "outcome"),
		steps:     f.NewCounter(prometheus.CounterOpts{Name: "nod_steps_total", Help: "Steps of turns: completions of the model that were taken."}),
		tools:     count("nod_tool_calls_total", "Tool calls that ended.", "tool", "outcome"),
		toolTime:  f.NewHistogramVec(prometheus.HistogramOpts{Name: "nod_tool_seconds", Help: "How long tools ran.", Buckets: long}, []string{"tool"}),
		calls:     count("nod_model_calls_total", "Calls of a model.", "model", "outcome"),
		callTime:  f.NewHistogramVec(prometheus.HistogramOpts{Name: "nod_model_seconds", Help: "How long calls of a model took.", Buckets: long}, []string{"model"}),
		tokens:    count("nod_model_tokens_total", "Tokens that the provider reported; cached ones are prompt tokens, too.", "kind"),
		cost:      f.NewCounter(prometheus.CounterOpts{Name: "nod_model_cost_total", Help: "What the calls of the model cost by llm.prices, in their currency."}),
		prices:    prices,
		approvals: count("nod_approvals_total", "Approvals that ended.", "outcome"),
		slots:     count("nod_schedule_times_total", "Times of schedules that came.", "outcome"),
		ignored:   f.NewCounter(prometheus.CounterOpts{Name: "nod_reactions_ignored_total", Help: "Reactions on approvals that did not count."}),
		waits:     f.NewHistogram(prometheus.HistogramOpts{Name: "nod_queue_wait_seconds", Help: "How long a woken thread waited for a run.", Buckets: short}),
		storeTime: f.NewHistogramVec(prometheus.HistogramOpts{Name: "nod_store_seconds", Help: "How long operations of the store took.", Buckets: short}, []string{"operation"}),
		storeErrs: count("nod_store_errors_total", "Operations of the store that failed.", "operation"),

		turnTime: f.NewHistogram(prometheus.HistogramOpts{Name: "nod_turn_seconds", Help: "How long turns took, from the message to the end, with the time in which an approval waited.", Buckets: prometheus.ExponentialBuckets(0.1, 2, 16)}), // to an hour
		posts:    f.NewHistogramVec(prometheus.HistogramOpts{Name: "nod_outbox_wait_seconds", Help: "How long calls to a platform waited before they were made.", Buckets: long}, []string{"platform", "priority"}),

		events:       count("nod_events_total", "Events that a platform sent.", "platform"),
		lastEvent:    f.NewGaugeVec(prometheus.GaugeOpts{Name: "nod_last_event_timestamp_seconds", Help: "When a platform sent the last event; the start of nod before the first."}, []string{"platform"}),
		sockets:      f.NewGaugeVec(prometheus.GaugeOpts{Name: "nod_sockets", Help: "Connections of this process, with those that are being replaced; of Slack only."}, []string{"platform"}),
		appSockets:   f.NewGaugeVec(prometheus.GaugeOpts{Name: "nod_app_sockets", Help: "Connections of all programs with the same tokens, as the platform said when this process last opened one; of Slack only."}, []string{"platform"}),
		reconnects:   count("nod_reconnects_total", "Connections to a platform that were made again.", "platform"),
		redeliveries: count("nod_redeliveries_total", "Events that a platform sent again.", "platform"),
		duplicates:   count("nod_duplicates_total", "Events that were known already.", "platform"),
		malformed:    count("nod_malformed_total", "Events that could not be understood.", "platform"),
		limited:      count("nod_rate_limited_total", "Calls that a platform refused as too many.", "platform", "bucket"),
	}
}

// Connection counts events of an adapter's connection.
func (m *Meter) Connection(platform string) inbound.Observe {
	events, last := m.events.WithLabelValues(platform), m.lastEvent.WithLabelValues(platform)
	last.SetToCurrentTime()
	return inbound.Observe{
		Event: func() { events.Inc(); last.SetToCurrentTime() },
		Waited: func(priority string, d time.Duration) {
			m.posts.WithLabelValues(platform, priority).Observe(d.Seconds())
		},
		Sockets: func(own, all int) {
			m.sockets.WithLabelValues(platform).Set(float64(own))
			if all > 0 {
				m.appSockets.WithLabelValues(platform).Set(float64(all))
			}
		},
		Reconnected: m.reconnects.WithLabelValues(platform).Inc,
		Redelivered: m.redeliveries.WithLabelValues(platform).Inc,
		Duplicate:   m.duplicates.WithLabelValues(platform).Inc,
		Malformed:   m.malformed.WithLabelValues(platform).Inc,
		Limited:     func(bucket string) { m.limited.WithLabelValues(platform, m.bucket(bucket)).Inc() },
	}
}

// Know takes the names of the tools that there are.
func (m *Meter) Know(tools []policy.Tool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range tools {
		m.known[t.Name] = true
	}
}

// tool is the label of a tool: a model calls by any name.
func (m *Meter) tool(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[name] {
		return name
	}
	return "unknown"
}

// Models takes the names of the further models, before Begin.
func (m *Meter) Models(names iter.Seq[string]) {
	for name := range names {
		m.models[name] = true
	}
}

// model is the label of the model that a request is for.
func (m *Meter) model(name string) string {
	if m.models[name] {
		return name
	}
	return firstModel
}

// firstModel is the label of the first model, which also answers requests that name none.
const firstModel = "llm"

// MostBuckets is how many buckets of platforms are told apart.
const MostBuckets = 50

// bucket is the label of a bucket, without the id that it may be for.
func (m *Meter) bucket(name string) string {
	if i := strings.LastIndexByte(name, ' '); i >= 0 && strings.ContainsAny(name[i:], "0123456789") {
		name = name[:i]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.buckets[name] && len(m.buckets) >= MostBuckets {
		return "other"
	}
	m.buckets[name] = true
	return name
}

// Outbox shows how many posts of a platform wait, by priority.
func (m *Meter) Outbox(platform string, depth func() map[string]int) {
	for priority := range depth() {
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nod_outbox_depth", Help: "Posts that wait, by priority.",
			ConstLabels: prometheus.Labels{"platform": platform, "priority": priority},
		}, func() float64 { return float64(depth()[priority]) }))
	}
}

// Observe hears of every entry that was committed.
func (m *Meter) Observe(run *memory.Run, e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Step:
		m.steps.Inc()
		m.used(b.Usage, b.Model)
	case memory.Trimmed:
		m.used(b.Usage, "")
	case memory.Result:
		m.tools.WithLabelValues(m.tool(b.Tool), string(b.State)).Inc()
		if b.Took > 0 {
			m.toolTime.WithLabelValues(m.tool(b.Tool)).Observe(b.Took.Seconds())
		}
	case memory.Decided:
		m.approvals.WithLabelValues(strings.ToLower(string(b.Outcome))).Inc()
	case memory.Slot:
		if b.Skipped > 0 {
			m.slots.WithLabelValues("skipped").Add(float64(b.Skipped))
		} else {
			m.slots.WithLabelValues("begun").Inc()
		}
	case memory.Vote:
		if !b.Counts {
			m.ignored.Inc()
		}
	case memory.Ended:
		m.turns.WithLabelValues(outcome(run.Log, b.Turn)).Inc()
		if asked := begun(run.Log, b.Turn); !asked.IsZero() {
			m.turnTime.Observe(e.At.Sub(asked).Seconds())
		}
	}
}

// used counts tokens and money.
func (m *Meter) used(u llm.Usage, model string) {
	m.tokens.WithLabelValues("prompt").Add(float64(u.Prompt))
	m.tokens.WithLabelValues("cached").Add(float64(u.Cached))
	m.tokens.WithLabelValues("completion").Add(float64(u.Completion))
	m.cost.Add(m.prices.Cost(u, model))
}

// begun is when the message came that opened a turn.
func begun(log []memory.Entry, turn uint64) time.Time {
	for _, e := range log {
		if e.Seq == turn {
			return e.At
		}
	}
	return time.Time{}
}

// outcome says how a turn ended.
func outcome(log []memory.Entry, turn uint64) string {
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Stopped:
			if b.Turn == turn {
				return "stopped"
			}
		case memory.Failed:
			switch {
			case b.Turn == turn && b.Limited:
				return "limited"
			case b.Turn == turn:
				return "failed"
			}
		}
	}
	return "answered"
}

// Model measures the calls of a model.
func (m *Meter) Model(next llm.Model) llm.Model { return measuredModel{next, m} }

// InTurn measures a model and limits its parallel calls; 0 is no limit. It measures
// calls, not waiting.
func (m *Meter) InTurn(next llm.Model, parallel int) llm.Model {
	if parallel == 0 {
		return m.Model(next)
	}
	q := queue.New(m.Model(next), parallel)
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Name: "nod_model_waiting", Help: "Calls of the model that wait for one of llm.parallel."},
		func() float64 { return float64(q.Waiting()) })
	return q
}

type measuredModel struct {
	llm.Model
	m *Meter
}

// Complete implements llm.Model.
func (d measuredModel) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	start := time.Now()
	r, err := d.Model.Complete(ctx, req, watch)
	model := d.m.model(req.Model)
	d.m.callTime.WithLabelValues(model).Observe(time.Since(start).Seconds())
	outcome := "ok"
	var fault *llm.Error
	switch {
	case errors.As(err, &fault):
		outcome = string(fault.Fault)
	case err != nil:
		outcome = "cancelled"
	}
	d.m.calls.WithLabelValues(model, outcome).Inc()
	return r, err
}

// Store measures the transitions of a store.
func (m *Meter) Store(next memory.Full) memory.Full { return measuredStore{next, m} }

type measuredStore struct {
	memory.Full
	m *Meter
}

// took measures an operation that ends now.
func (s measuredStore) took(op string, start time.Time, err *error) {
	s.m.storeTime.WithLabelValues(op).Observe(time.Since(start).Seconds())
	if *err != nil && !errors.Is(*err, context.Canceled) {
		s.m.storeErrs.WithLabelValues(op).Inc()
	}
}

// Put implements memory.Store.
func (s measuredStore) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (_ bool, err error) {
	defer s.took("put", time.Now(), &err)
	return s.Full.Put(ctx, t, b, ids...)
}

// PutRef implements memory.Store.
func (s measuredStore) PutRef(ctx context.Context, ref chat.MessageRef, b memory.Body, ids ...string) (_ bool, err error) {
	defer s.took("put_ref", time.Now(), &err)
	return s.Full.PutRef(ctx, ref, b, ids...)
}

// Next implements memory.Store; that it waits for work is no latency.
func (s measuredStore) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	run, err := s.Full.Next(ctx, platforms...)
	if err == nil {
		s.m.waits.Observe(run.Waited.Seconds())
	} else if ctx.Err() == nil {
		s.m.storeErrs.WithLabelValues("next").Inc()
	}
	return run, err
}

// Commit implements memory.Store.
func (s measuredStore) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) (_ []memory.Entry, err error) {
	defer s.took("commit", time.Now(), &err)
	return s.Full.Commit(ctx, run, bodies...)
}

// Finish implements memory.Store.
func (s measuredStore) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time, bodies ...memory.Body) (_ bool, err error) {
	defer s.took("finish", time.Now(), &err)
	return s.Full.Finish(ctx, run, wakeAt, bodies...)
}
