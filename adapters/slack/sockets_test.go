package slack

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"nod/chat/inbound"
	"nod/internal/ledger"
)

// offline is an adapter whose sockets are made by a test.
func offline(t *testing.T, o Options) *Adapter {
	t.Helper()
	o.AppToken, o.BotToken, o.Inbox = "xapp-1", "xoxb-1", ledger.New()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Slack says how many sockets all programs with the same tokens have. More than those of
// the processes that share the store are told.
func TestForeignSockets(t *testing.T) {
	for others, warned := range map[int]bool{0: true, 1: true, 2: false} {
		var log strings.Builder
		var own, all int
		var o Options
		o.Logger, o.Observe = slog.New(slog.NewTextHandler(&log, nil)), inbound.Observe{Sockets: func(o, a int) { own, all = o, a }}
		if others > 0 {
			o.Shared = func(own int) int { return own + others }
		}
		k := offline(t, o).sockets
		k.conns.Store(2)
		for n, warns := range map[int]bool{2: false, 4: warned} {
			log.Reset()
			s := &session{k: k, greeting: time.NewTimer(time.Hour)}
			s.frame(t.Context(), fmt.Appendf(nil, `{"type": "hello", "num_connections": %d}`, n))
			k.reading.Wait()
			if own != 2 || all != n || strings.Contains(log.String(), "level=WARN") != warns {
				t.Errorf("%d of others, %d sockets: told %d of %d\n%s", others, n, own, all, &log)
			}
		}
	}
}

// When the last socket closes it is noted how far threads were heard.
func TestLastSocket(t *testing.T) {
	a := offline(t, Options{})
	k := a.sockets
	k.begun.Store(true)
	all := []*session{{k: k}, {k: k}}
	for _, s := range all {
		k.open[s] = time.Now().Add(-time.Hour)
	}
	for n, s := range all {
		s.lost(t.Context())
		if last := n == 1; a.Heard.Open() != last || a.Ready() == last {
			t.Errorf("after socket %d: noted %v, ready %v", n, a.Heard.Open(), a.Ready())
		}
	}
}
