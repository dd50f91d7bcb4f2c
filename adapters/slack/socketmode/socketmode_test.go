package socketmode

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// listener is a host that writes down the requests of its sockets.
type listener struct{ asked []string }

func (l *listener) Open(context.Context) (string, error)               { return "", nil }
func (l *listener) Fatal(error) bool                                   { return false }
func (l *listener) Frame(context.Context, []byte, Ack) (string, error) { return "", nil }
func (l *listener) Missed(time.Duration)                               { l.asked = append(l.asked, "missed") }

func (l *listener) Remember(context.Context) { l.asked = append(l.asked, "remember") }

// The last socket that closes has the host note how far threads were heard.
func TestLastSocket(t *testing.T) {
	host := &listener{}
	k := New(Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now, PingInterval: time.Second}, host)
	k.Begin()
	k.live.opened(0, time.Now().Add(-time.Hour))
	k.live.opened(1, time.Now().Add(-time.Hour))
	for n, want := range [][]string{nil, {"remember"}} {
		s := &session{k: k, n: n}
		s.lost(t.Context())
		if !slices.Equal(host.asked, want) || k.Ready() != (n == 0) {
			t.Errorf("after socket %d: %q, ready %v", n, host.asked, k.Ready())
		}
	}
}
