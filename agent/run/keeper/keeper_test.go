package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/incidents"
	"nod/agent/run/keeper"
	"nod/chat"
	"nod/memory"
	"nod/memory/sqlite"
)

const most = 6

// channel is a channel in which threads begin, by the key of their post.
type channel struct {
	mu    sync.Mutex
	posts map[string]int
}

func (c *channel) begin(_ context.Context, _ string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !look || c.posts[p.Key] == 0 {
		c.posts[p.Key]++
	}
	return chat.ThreadID{Platform: "board", Channel: "c", Root: p.Key}, chat.MessageRef{Platform: "board", Channel: "c", ID: p.Key}, nil
}

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func keeps(store memory.Store, c *channel) *keeper.Keeper {
	rules := incidents.Rules{Name: "pages", In: "board:c", Ask: "look", Same: "{labels.key}", Quiet: 30 * time.Minute, Late: time.Hour, Most: most}
	return &keeper.Keeper{Store: store, Rules: map[string]incidents.Rules{"pages": rules}, Begin: c.begin, Log: slog.New(slog.DiscardHandler), Observe: func(string, string) {}}
}

// In a storm of 500 alerts about 20 incidents, each delivered three times to two keepers of
// which one dies again and again, none is lost, none counts twice, and no more turns begin
// in an hour than may.
func TestAlertStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		c := &channel{posts: map[string]int{}}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		run := func(ctx context.Context) {
			if err := keeps(store, c).Run(ctx); err != nil {
				t.Error(err)
			}
		}
		all.Go(func() { run(ctx) })
		all.Go(func() {
			for ctx.Err() == nil {
				short, kill := context.WithTimeout(ctx, 300*time.Millisecond)
				run(short)
				kill()
			}
		})
		door := keeps(store, c)
		for i := range 500 {
			came := incidents.Came{Text: "firing", Labels: map[string]string{"key": fmt.Sprint(i % 20)}}
			for range 3 {
				if _, err := door.Posted(t.Context(), "pages", came, fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		begun, held := c.counts(t, store)
		if begun != most || held != 20-most {
			t.Errorf("%d turns began, %d wait", begun, held)
		}
		for range 4 { // an hour after the other
			time.Sleep(time.Hour)
		}
		if begun, _ := c.counts(t, store); begun != 20 {
			t.Errorf("%d turns began in the end", begun)
		}
		stop()
		all.Wait()
	})
}

// A channel that refuses the bot is tried more and more seldom, and nothing is lost.
func TestRefusedChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		c := &channel{posts: map[string]int{}}
		k := keeps(store, c)
		began, tries := time.Now(), 0
		k.Begin = func(ctx context.Context, in string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
			if tries++; time.Since(began) < time.Hour {
				return chat.ThreadID{}, chat.MessageRef{}, errors.New("not in the channel")
			}
			return c.begin(ctx, in, p, look)
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = k.Run(ctx) })
		if _, err := k.Posted(t.Context(), "pages", incidents.Came{Labels: map[string]string{"key": "a"}}, "1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if len(c.posts) != 1 || tries > 20 {
			t.Errorf("%d threads after %d tries", len(c.posts), tries)
		}
		stop()
		all.Wait()
	})
}

// counts checks the threads, and counts the turns that began and the incidents that were
// held back.
func (c *channel) counts(t *testing.T, store memory.Reader) (begun, held int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.posts) != 20 {
		t.Errorf("%d threads", len(c.posts))
	}
	for key, n := range c.posts {
		log, err := store.Read(t.Context(), chat.ThreadID{Platform: "board", Channel: "c", Root: key})
		if err != nil {
			t.Fatal(err)
		}
		as, times := map[memory.AlertAs]int{}, 0
		for _, e := range log {
			if m, ok := e.Body.(memory.Message); ok {
				as[m.Alert.As]++
				times = max(times, m.Alert.Times)
			}
		}
		begun, held = begun+as[memory.AlertBegins], held+as[memory.AlertHeld]
		if n != 1 || times != 24 || as[memory.AlertAgain] != 24 {
			t.Errorf("%s was posted %d times, and came again %d times: %v", key, n, times, as)
		}
	}
	return begun, held
}
