package hooks

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nod/agent/incidents"
	"nod/cmd/bot/config"
	"nod/setting"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// taken is a server with an alert of each format, and what it put.
type taken struct {
	*Server
	put  []string
	fail bool
}

func newTaken() *taken {
	s := &taken{}
	s.Server = &Server{
		Put: func(_ context.Context, name string, c incidents.Came, id string) (bool, error) {
			if s.fail {
				return true, errors.New("the store is away")
			}
			s.put = append(s.put, fmt.Sprintf("%s %s %v %t", name, id, c.Labels, c.Resolved))
			return true, nil
		},
		Draining: func() bool { return false }, Observe: func(string, string) {}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon },
	}
	for _, f := range []config.AlertFormat{"nod", "alertmanager", "grafana"} {
		s.Alerts = append(s.Alerts, config.Alert{Name: string(f), Format: f, Secret: setting.NewSecret("s3cret"), Rate: 3})
	}
	return s
}

// post sends a request with the headers of a sender that knows a secret.
func (s *taken) post(name, secret, body string, at time.Time, change func(*http.Request)) int {
	r := httptest.NewRequest(http.MethodPost, "/hooks/"+name, strings.NewReader(body))
	unix := fmt.Sprint(at.Unix())
	switch name {
	case "alertmanager":
		r.Header.Set("Authorization", "Bearer "+secret)
	case "grafana":
		r.Header.Set("X-Grafana-Alerting-Signature-Timestamp", unix)
		r.Header.Set("X-Grafana-Alerting-Signature", hex.EncodeToString(sum([]byte(secret), unix+":"+body)))
	default:
		r.Header.Set("X-Nod-Time", unix)
		r.Header.Set("X-Nod-Signature", "sha256="+hex.EncodeToString(sum([]byte(secret), unix+"."+body)))
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

const firing = `{"alerts":[{"status":"firing","labels":{"alertname":"A"}},{"status":"resolved","labels":{"alertname":"B"}}]}`

// Each element of a POST is an alert of its own, and only with the right signature.
func TestTake(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nod", "alertmanager", "grafana"} {
		s := newTaken()
		if got := s.post(name, "s3cret", firing, noon, nil); got != http.StatusOK || len(s.put) != 2 ||
			!strings.Contains(s.put[0], "map[alertname:A] false") || !strings.Contains(s.put[1], "map[alertname:B] true") {
			t.Errorf("%s: %d, %q", name, got, s.put)
		}
		ids := s.put
		if got := s.post(name, "s3cret", firing, noon, nil); got != http.StatusOK || s.put[2] != ids[0] {
			t.Errorf("%s, once more: %d, %q", name, got, s.put)
		}
		if got := s.post(name, "wrong", firing, noon, nil); got != http.StatusUnauthorized || len(s.put) != 4 {
			t.Errorf("%s, a wrong secret: %d, %d put", name, got, len(s.put))
		}
	}
}

// A POST that is refused puts nothing, and says why by its status.
func TestRefused(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		what, name, body string
		at               time.Time
		change           func(*http.Request)
		before           func(*taken)
		want             int
	}{
		{"no signature", "nod", "x", noon, header("X-Nod-Signature", ""), nil, http.StatusUnauthorized},
		{"a signature without its kind", "nod", "x", noon, func(r *http.Request) {
			r.Header.Set("X-Nod-Signature", strings.TrimPrefix(r.Header.Get("X-Nod-Signature"), "sha256="))
		}, nil, http.StatusUnauthorized},
		{"another time than was signed", "nod", "x", noon, header("X-Nod-Time", fmt.Sprint(noon.Unix()+1)), nil, http.StatusUnauthorized},
		{"an old time", "nod", "x", noon.Add(-6 * time.Minute), nil, nil, http.StatusUnauthorized},
		{"a time to come", "grafana", firing, noon.Add(6 * time.Minute), nil, nil, http.StatusUnauthorized},
		{"no time", "grafana", firing, noon, header("X-Grafana-Alerting-Signature-Timestamp", ""), nil, http.StatusUnauthorized},
		{"a token without Bearer", "alertmanager", firing, noon, header("Authorization", "s3cret"), nil, http.StatusUnauthorized},
		{"an unknown name", "none", "x", noon, nil, nil, http.StatusNotFound},
		{"another method", "nod", "x", noon, func(r *http.Request) { r.Method = http.MethodGet }, nil, http.StatusMethodNotAllowed},
		{"too large", "nod", strings.Repeat("x", mostBody+1), noon, nil, nil, http.StatusRequestEntityTooLarge},
		{"no JSON", "alertmanager", "x", noon, nil, nil, http.StatusBadRequest},
		{"no list", "grafana", "{}", noon, nil, nil, http.StatusBadRequest},
		{"empty", "nod", " ", noon, nil, nil, http.StatusBadRequest},
		{"a drain", "nod", "x", noon, nil, func(s *taken) { s.Draining = func() bool { return true } }, http.StatusServiceUnavailable},
		{"a store that is away", "nod", "x", noon, nil, func(s *taken) { s.fail = true }, http.StatusServiceUnavailable},
		{"more than the rate", "nod", "x", noon, nil, func(s *taken) {
			for range 3 {
				s.post("nod", "s3cret", "x", noon, nil)
			}
			s.put = nil
		}, http.StatusTooManyRequests},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newTaken()
			if c.before != nil {
				c.before(s)
			}
			if got := s.post(c.name, "s3cret", c.body, c.at, c.change); got != c.want || len(s.put) > 0 {
				t.Errorf("status %d, want %d; %d put", got, c.want, len(s.put))
			}
		})
	}
}
