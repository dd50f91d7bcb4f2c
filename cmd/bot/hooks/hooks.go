// Package hooks takes alerts by POST. It reads nothing of a request whose signature is not
// right, and answers 200 only once all alerts in it are durable.
package hooks

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"nod/agent/incidents"
	"nod/cmd/bot/config"
)

// Bounds of a POST.
const (
	mostBody = 256 << 10
	mostSkew = 5 * time.Minute // of its clock

	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
)

// Server takes the POSTs of alerts at /hooks/NAME.
type Server struct {
	Alerts []config.Alert
	// Put makes an alert durable, once for each id.
	Put func(ctx context.Context, name string, c incidents.Came, id string) (ours bool, err error)
	// Draining says whether the process shuts down.
	Draining func() bool
	// Observe hears of every refused POST of a known alert.
	Observe func(alert, outcome string)
	Log     *slog.Logger
	Now     func() time.Time

	mu     sync.Mutex
	lately map[string][]time.Time // of POSTs in the last minute
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, "/hooks/")
	alert := s.find(name)
	if !ok || alert == nil {
		http.Error(w, "no such alert", http.StatusNotFound)
		return
	}
	status, said := s.take(r, *alert)
	if status != http.StatusOK {
		s.Observe(name, "refused")
	}
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, said)
}

func (s *Server) find(name string) *config.Alert {
	for i := range s.Alerts {
		if s.Alerts[i].Name == name && s.Alerts[i].Posts() {
			return &s.Alerts[i]
		}
	}
	return nil
}

// take takes a POST, and gives its answer.
func (s *Server) take(r *http.Request, alert config.Alert) (status int, said string) {
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only POST"
	case s.Draining():
		return http.StatusServiceUnavailable, "shutting down"
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, mostBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, "more than 256 KiB"
	case err != nil:
		return http.StatusBadRequest, "the body broke off"
	case !s.signed(r.Header, body, alert):
		return http.StatusUnauthorized, "the signature is wrong, or the time is more than 5 min off"
	case !s.fits(alert):
		return http.StatusTooManyRequests, "more POSTs a minute than `rate`"
	}
	all, err := read(alert.Format, body)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	id := s.delivery(r.Header, body, alert)
	for i, one := range all {
		if _, err := s.Put(r.Context(), alert.Name, one, id+"/"+strconv.Itoa(i)); err != nil {
			s.Log.Error("put an alert", "alert", alert.Name, "error", err)
			return http.StatusServiceUnavailable, "not kept; send it again"
		}
	}
	return http.StatusOK, "taken"
}

// signed says whether a POST was sent by somebody who knows the secret, and lately.
func (s *Server) signed(h http.Header, body []byte, alert config.Alert) bool {
	secret := []byte(alert.Secret.Reveal())
	switch alert.Format {
	case "alertmanager":
		token, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		return hmac.Equal(sum(secret, token), sum(secret, string(secret))) && bearer
	case "grafana":
		at := cmp.Or(h.Get("X-Grafana-Alerting-Signature-Timestamp"), h.Get("X-Grafana-Alerting-Timestamp"))
		return s.near(at) && same(h.Get("X-Grafana-Alerting-Signature"), sum(secret, at+":"+string(body)))
	}
	at := h.Get("X-Nod-Time")
	hexed, prefixed := strings.CutPrefix(h.Get("X-Nod-Signature"), "sha256=")
	return s.near(at) && same(hexed, sum(secret, at+"."+string(body))) && prefixed
}

func sum(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(h, text) // a hash never returns an error
	return h.Sum(nil)
}

func same(hexed string, want []byte) bool {
	got, err := hex.DecodeString(hexed)
	return err == nil && hmac.Equal(got, want)
}

// near says whether a time, in Unix seconds, is about now.
func (s *Server) near(at string) bool {
	sec, err := strconv.ParseInt(at, 10, 64)
	return err == nil && s.Now().Sub(time.Unix(sec, 0)).Abs() <= mostSkew
}

// fits says whether the alert may have one more POST in this minute, and counts it.
func (s *Server) fits(alert config.Alert) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	lately := s.lately[alert.Name]
	for len(lately) > 0 && now.Sub(lately[0]) >= time.Minute {
		lately = lately[1:]
	}
	fits := len(lately) < alert.Rate
	if fits {
		lately = append(lately, now)
	}
	if s.lately == nil {
		s.lately = map[string][]time.Time{}
	}
	s.lately[alert.Name] = lately
	return fits
}

// again is within how long the same body of a sender that names no delivery is the same
// one. Later it is the reminder that the sender was told to repeat.
const again = 5 * time.Minute

// delivery names a delivery.
func (s *Server) delivery(h http.Header, body []byte, alert config.Alert) string {
	hash := sha256.Sum256(body)
	id := hex.EncodeToString(hash[:])
	if alert.Format != "nod" {
		return id + s.Now().UTC().Truncate(again).Format(time.RFC3339)
	}
	if given := h.Get("X-Nod-Delivery"); given != "" {
		return "given " + given
	}
	return id
}

// Run serves at an address until ctx is done.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	s.Log.Info("listening for alerts", "address", l.Addr().String())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve hooks: %w", err)
	}
	return nil
}
