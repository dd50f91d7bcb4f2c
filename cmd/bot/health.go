package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// pingTimeout bounds how long /readyz waits for the store.
const pingTimeout = 2 * time.Second

// listen serves /healthz, /readyz and /metrics until ctx is done.
func (p *program) listen(ctx context.Context, addr string, platforms map[string]platform) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on http.listen: %w", err)
	}
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
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if missing := p.missing(r.Context(), platforms); len(missing) > 0 {
			say(w, http.StatusServiceUnavailable, "not connected: "+strings.Join(missing, ", "))
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.meter.registry, promhttp.HandlerOpts{}))
	return mux
}

// missing lists what is not connected.
func (p *program) missing(ctx context.Context, platforms map[string]platform) []string {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var out []string
	if err := p.store.Ping(ctx); err != nil {
		out = append(out, "store")
	}
	for name, a := range platforms {
		if !a.Ready() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}
