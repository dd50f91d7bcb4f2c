package discord

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// starters are shards that may begin sessions, of a bot that Discord tells how many
// it may begin: each answer in turn, and then the last.
func starters(t *testing.T, n, concurrent int, said ...string) (a *Adapter, shards []*shard, asked *int) {
	t.Helper()
	asked = new(int)
	tell := through(func(*http.Request) (int, string, bool) {
		*asked++
		return http.StatusOK, `{"url":"wss://example.com","shards":1,"session_start_limit":` + said[min(*asked, len(said))-1] + `}`, true
	})
	a, err := New(Options{Token: "x", Inbox: ledger.New(), HTTP: &http.Client{Transport: tell}})
	if err != nil {
		t.Fatal(err)
	}
	return a, a.shards(n, concurrent), asked
}

// Shards of one group begin one after the other, in order, 5 s apart, whichever of
// them comes first; those of others don't wait for them. So it is when they begin
// again.
func TestShardsBeginInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, all, _ := starters(t, 5, 2, `{"remaining":1000,"reset_after":86400000,"max_concurrency":2}`)
		var mu sync.Mutex
		begun := map[int]string{}
		begin := func(list ...*shard) {
			at := time.Now()
			var wait sync.WaitGroup
			for _, s := range slices.Backward(list) {
				wait.Go(func() {
					if err := a.mayIdentify(t.Context(), s); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					begun[s.n] += fmt.Sprint(time.Since(at), " ")
				})
				synctest.Wait()
			}
			wait.Wait()
		}
		begin(all...)
		time.Sleep(time.Hour)
		begin(all[0], all[2])
		begin(all[1])
		want := map[int]string{0: "0s 5s ", 1: "0s 0s ", 2: "5s 0s ", 3: "5s ", 4: "10s "}
		if diff := cmp.Diff(want, begun); diff != "" {
			t.Errorf("they begin (-want +got):\n%s", diff)
		}
	})
}

// Each session that is begun counts, also within the minute in which it is known how
// many may be. When none may be any more it waits until there are new ones.
func TestSessionsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, all, asked := starters(t, 1, 1,
			`{"remaining":2,"reset_after":20000,"max_concurrency":1}`, `{"remaining":1000,"reset_after":86400000,"max_concurrency":1}`)
		began := time.Now()
		var got []string
		for range 4 {
			if err := a.mayIdentify(t.Context(), all[0]); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(time.Since(began), ", asked ", *asked))
		}
		want := []string{"0s, asked 1", "5s, asked 1", "25s, asked 1", "30s, asked 2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("it begins (-want +got):\n%s", diff)
		}
	})
}

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
