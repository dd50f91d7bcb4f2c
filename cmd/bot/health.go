package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/hooks"
)

// pingTimeout bounds how long /readyz waits for the store.
const pingTimeout = 2 * time.Second

// bind takes the addresses of http.listen and http.hooks; nil where the file has none.
func (p *program) bind(ctx context.Context) (health, posts net.Listener, err error) {
	if p.cfg.HTTP == nil {
		return nil, nil, nil
	}
	if health, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.cfg.HTTP.Listen); err != nil {
		return nil, nil, fmt.Errorf("listen on http.listen: %w", err)
	}
	if p.cfg.HTTP.Hooks == "" {
		return health, nil, nil
	}
	if posts, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.cfg.HTTP.Hooks); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen on http.hooks: %w", err), health.Close())
	}
	return health, posts, nil
}

// takePosts takes POSTs of alerts until ctx is done.
func (p *program) takePosts(ctx context.Context, l net.Listener) error {
	s := &hooks.Server{
		Alerts: p.cfg.Alerts, Put: p.alerts.Posted, Draining: p.draining.Load, Observe: p.alerts.Observe, Log: p.log, Now: time.Now,
	}
	return s.Run(ctx, l)
}

// listen serves /healthz, /readyz and /metrics until ctx is done.
func (p *program) listen(ctx context.Context, l net.Listener, platforms map[string]platform) error {
	srv := &http.Server{Handler: p.health(platforms), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	p.log.Info("listening", "address", l.Addr().String())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

func (p *program) health(platforms map[string]platform) http.Handler {
	mux := http.NewServeMux()
	p.gauge(platforms)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ready, state := p.state(r.Context(), platforms)
		w.Header().Set("Content-Type", "application/json")
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(state)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.meter.Registry, promhttp.HandlerOpts{}))
	return mux
}

// gauge sets the metrics of the store and the platforms.
func (p *program) gauge(platforms map[string]platform) {
	p.meter.Health(func(ctx context.Context) map[string]any {
		_, state := p.state(ctx, platforms)
		return state
	})
	if all := limits(p.cfg); all.All != (run.Limit{}) {
		p.meter.Limit(func(ctx context.Context) map[string]float64 {
			used, err := run.Limits{All: all.All}.Used(ctx, p.store, time.Now(), "", "", chat.ThreadID{})
			if err != nil {
				return nil // not known, which is no number
			}
			return map[string]float64{"per_day": used[0].Share()}
		})
	}
	p.meter.Oldest(p.store, slices.Collect(maps.Keys(platforms)))
	p.meter.Waiting(func(ctx context.Context) map[string]float64 {
		out := map[string]float64{}
		for name := range platforms {
			n := 0.0
			for _, err := range p.store.Pending(ctx, name) {
				if err != nil {
					return nil // not known, which is no number
				}
				n++
			}
			out[name] = n
		}
		return out
	})
}

// state says of the store and of every platform whether it can be used, and whether
// all of them can. A store is asked to take a write.
func (p *program) state(ctx context.Context, platforms map[string]platform) (ready bool, out map[string]any) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	ready, out = !p.draining.Load(), map[string]any{"store": "ok"}
	if err := p.store.Ping(ctx); err != nil {
		ready, out["store"] = false, err.Error()
	}
	for name, a := range platforms {
		out[name] = "ok"
		why, gone := p.gone.Load(name)
		switch {
		case gone:
			ready, out[name] = false, why
		case !a.Ready():
			ready, out[name] = false, "not connected"
		}
	}
	out["ready"] = ready
	return ready, out
}
