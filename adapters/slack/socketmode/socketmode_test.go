package socketmode

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/chat/inbound"
)

// listener is a host that writes down the requests of its sockets.
type listener struct{ asked []string }

func (l *listener) Open(context.Context) (string, error)               { return "", nil }
func (l *listener) Fatal(error) bool                                   { return false }
func (l *listener) Frame(context.Context, []byte, Ack) (string, error) { return "", nil }
func (l *listener) Missed(time.Duration)                               { l.asked = append(l.asked, "missed") }

func (l *listener) Remember(context.Context) { l.asked = append(l.asked, "remember") }

// greeted is a host whose frames all greet.
type greeted struct{ listener }

func (*greeted) Frame(context.Context, []byte, Ack) (string, error) { return "hello", nil }

// Slack says how many sockets all programs with the same tokens have. More than those of
// the processes that share the store are told.
func TestForeignSockets(t *testing.T) {
	for others, warned := range map[int]bool{0: true, 1: true, 2: false} {
		var log strings.Builder
		var own, all int
		k := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now, Observe: inbound.Observe{Sockets: func(o, a int) { own, all = o, a }}}, &greeted{})
		if others > 0 {
			k.o.Shared = func(own int) int { return own + others }
		}
		k.conns.Store(2)
		for n, warns := range map[int]bool{2: false, 4: warned} {
			log.Reset()
			s := &session{k: k}
			s.frame(t.Context(), fmt.Appendf(nil, `{"type": "hello", "num_connections": %d}`, n), time.NewTimer(time.Hour))
			k.reading.Wait()
			if own != 2 || all != n || strings.Contains(log.String(), "level=WARN") != warns {
				t.Errorf("%d of others, %d sockets: told %d of %d\n%s", others, n, own, all, &log)
			}
		}
	}
}

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
