package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// With a model that takes one call at a time and is at work, commands are
// answered and what was approved runs at once; the others wait, and are all
// answered, one call after the other.
func TestOneModelCallAtATime(t *testing.T) {
	t.Parallel()
	const threads = 4
	hold, held := make(chan struct{}), make(chan struct{})
	var now, most atomic.Int64
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(req fakellm.Request) fakellm.Reply {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		if strings.HasSuffix(req.Last().Text(), "think about it") {
			close(held)
			<-hold
		}
		return obedient(req)
	}, setup{llm: "parallel: 1"})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	n.start()
	risky := w.mention("ada", "deploy one")
	ask := n.ask(risky, "one")
	at := []place{w.mention("ada", "think about it")}
	<-held
	for i := range threads {
		at = append(at, w.mention("ada", fmt.Sprintf("hello %d", i)))
	}
	n.find(w.mention("ada", "help"), "stop")
	w.react("ada", ask.place, "✅")
	eventually(t, "what was approved has run", func() bool { return len(n.ran()) == 1 })
	if c := len(n.llm.Requests()); c != 2 {
		t.Errorf("%d requests while one call is at work, want 2 in all", c)
	}
	eventually(t, "all of them wait", func() bool {
		_, page := fetchPage(t, "http://"+n.http+"/metrics")
		return strings.Contains(page, fmt.Sprintf("nod_model_waiting %d\n", threads+1)) // and the risky one's next call
	})
	release()
	for i, p := range at {
		n.find(p, "You said")
		if c := n.count(p, "took too long"); c > 0 {
			t.Errorf("thread %d was told that it took too long", i)
		}
	}
	n.find(risky, "The tool says")
	if most.Load() != 1 {
		t.Errorf("%d calls at once", most.Load())
	}
}
