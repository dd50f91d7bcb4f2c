package discord

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"nod/internal/fakediscord"
)

// A bot whose sessions end one after the other does not ask for one too many: Discord
// would take its token away.
func TestBudgetIsKept(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	o.fake.AllowIdentifies(3, time.Hour)
	token := o.fake.Token()
	log, lines := io.Pipe()
	t.Cleanup(func() { _ = log.Close() })
	waits := make(chan struct{})
	go func() {
		var said strings.Builder
		for b := make([]byte, 4096); ; {
			n, err := log.Read(b)
			if said.Write(b[:n]); err != nil {
				return
			}
			if strings.Contains(said.String(), "no new session today") {
				close(waits)
				_, _ = io.Copy(io.Discard, log)
				return
			}
		}
	}()
	o.begin(func(opt *Options) { opt.Logger = slog.New(slog.NewTextHandler(lines, nil)) })
	for range 3 {
		o.wait(func(s *fakediscord.Server) bool { return len(s.Connections()) == 1 })
		o.fake.Connections()[0].Invalidate(false)
	}
	spent, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		_ = o.fake.WaitFor(spent, func(s *fakediscord.Server) bool { return s.Token() != token })
	}()
	select {
	case <-waits:
	case <-spent.Done():
		t.Error("the token is gone")
	}
}

// A session that does not come is waited for as long as the connection lives: asking
// again would cost one more of those that a day allows.
func TestSlowSession(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	o.fake.IgnoreIdentifies(true)
	o.begin(func(opt *Options) { opt.Greet = time.Nanosecond })
	o.wait(func(s *fakediscord.Server) bool { return s.Gateway().Unanswered > 0 })
	for range 20 { // by which much more time goes by than a resume would have
		if err := o.a.ownApp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o.fake.IgnoreIdentifies(false)
	o.ready()
	if got := o.fake.Gateway(); got.Connects != 1 || got.Identifies != 1 {
		t.Errorf("%+v", got)
	}
}
