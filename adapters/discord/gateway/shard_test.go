package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deaf is a host that wants to know nothing. Discord tells it how many sessions may begin:
// each answer in turn, and then the last.
type deaf struct {
	said  []string
	asked *int
}

func (d deaf) Start(context.Context) (info Start, err error) {
	*d.asked++
	err = json.Unmarshal([]byte(`{"url":"wss://example.com","shards":1,"session_start_limit":`+d.said[min(*d.asked, len(d.said))-1]+`}`), &info)
	return info, err
}
func (deaf) Self() string                   { return "" }
func (deaf) Greeted(json.RawMessage)        {}
func (deaf) Receive(context.Context, Event) {}
func (deaf) Missed()                        {}
func (deaf) Recount()                       {}
func (deaf) Remember(context.Context)       {}
func (deaf) Malformed(string)               {}

// starters are shards that may begin sessions.
func starters(n, concurrent int, said ...string) (shards []*shard, asked *int) {
	asked = new(int)
	g := New(Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now, Stagger: 5 * time.Second}, deaf{said, asked}, func() {})
	return g.make(n, concurrent), asked
}

// Shards of one group begin one after the other, in order, 5 s apart, whichever of
// them comes first; those of others don't wait for them. So it is when they begin
// again.
func TestShardsBeginInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := starters(5, 2, `{"remaining":1000,"reset_after":86400000,"max_concurrency":2}`)
		var mu sync.Mutex
		begun := map[int]string{}
		begin := func(list ...*shard) {
			at := time.Now()
			var wait sync.WaitGroup
			for _, s := range slices.Backward(list) {
				wait.Go(func() {
					if err := s.mayIdentify(t.Context()); err != nil {
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

// A shard asks before each new session. When none may begin any more it waits, and asks
// again before it begins one: Discord cuts the fraction of a millisecond that is left, and
// resets the token of a bot that comes too early.
func TestSessionsAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, asked := starters(1, 1,
			`{"remaining":1,"reset_after":20000,"max_concurrency":1}`, `{"remaining":0,"reset_after":20000,"max_concurrency":1}`,
			`{"total":1000,"remaining":0,"reset_after":0,"max_concurrency":1}`,
			`{"remaining":1000,"reset_after":86400000,"max_concurrency":1}`)
		began := time.Now()
		var got []string
		for range 3 {
			if err := all[0].mayIdentify(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(time.Since(began), ", asked ", *asked))
		}
		want := []string{"0s, asked 1", "21s, asked 4", "26s, asked 5"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("it begins (-want +got):\n%s", diff)
		}
	})
}

// No READY and no GUILD_CREATE stops a shard.
func FuzzReady(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","resume_gateway_url":"wss://x","user":{"id":"1"},"guilds":[{"id":"2"}]}`))
	f.Add([]byte(`{"id":"2","unavailable":true}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		g := New(Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now, Told: time.Hour}, deaf{}, func() {})
		s := g.make(1, 1)[0]
		_ = s.ready(data)
		s.told(payload{Type: "GUILD_CREATE", Data: data})
		s.stopWaiting()
	})
}

// A bookmark stands before the first event that is not put.
func TestSettled(t *testing.T) {
	s := &shard{g: &Gateway{}}
	s.is("s", "", 7)
	one, two := s.hold(8), s.hold(9)
	s.hold(9)()
	s.seq = 9
	if got := s.upTo(); got != 7 {
		t.Errorf("up to %d with both open", got)
	}
	two()
	if got := s.upTo(); got != 7 {
		t.Errorf("up to %d with the first open", got)
	}
	one()
	if got := s.upTo(); got != 9 {
		t.Errorf("up to %d", got)
	}
	late := s.hold(10)
	s.is("t", "", 0) // another session, whose numbers are its own
	late()
	if got := s.upTo(); got != 0 {
		t.Errorf("up to %d in a new session", got)
	}
}
