// Package spending sums up what model calls used, by person, model and day. It reads that from
// the logs of threads: each step holds its usage.
package spending

import (
	"context"
	"sync"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Use is one kind of use: by a person of a platform, with a model, on a day (UTC).
type Use struct {
	Day, Platform, Model string
	By                   chat.User
}

// Of is what a thread used.
type Of map[Use]llm.Usage

// Source is where threads are read.
type Source struct {
	Logs interface {
		Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error)
	}
	Threads   memory.Lister
	Platforms []string
	Now       func() time.Time
}

// Ledger keeps a thread's sums until the thread is touched again. The zero Ledger is
// empty. It is safe for concurrent use.
type Ledger struct {
	mu   sync.Mutex
	kept map[chat.ThreadID]kept
}

type kept struct {
	touched time.Time
	of      Of
}

const (
	mostReads = 2000            // logs that are read at once; the rest follows with the next
	exactly   = 2 * time.Second // a store says to the second when a thread was touched: it may be again
)

// Read brings the sums of threads that were touched since a time up to date. left says of
// how many that is not done yet: Read goes on there when it is called again.
func (l *Ledger) Read(ctx context.Context, from Source, since time.Time) (all map[chat.ThreadID]Of, left int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.kept
	l.kept = map[chat.ThreadID]kept{}
	all = map[chat.ThreadID]Of{}
	reads := 0
	q := memory.ListQuery{Platforms: from.Platforms, Since: since, Most: 1000}
	for {
		page, err := from.Threads.Threads(ctx, q)
		if err != nil || len(page) == 0 {
			return all, left, err
		}
		for _, listed := range page {
			k, ok := old[listed.Thread]
			if !ok || !k.touched.Equal(listed.Touched) {
				if reads++; reads > mostReads {
					left++
					continue
				}
				log, err := from.Logs.Read(ctx, listed.Thread)
				if err != nil {
					return nil, 0, err
				}
				k = kept{listed.Touched, Sum(listed.Thread, log, since)}
			}
			if from.Now().Sub(listed.Touched) > exactly {
				l.kept[listed.Thread] = k
			}
			all[listed.Thread] = k.of
		}
		q.After = page[len(page)-1]
	}
}

// Sum adds up a log from a time on.
func Sum(thread chat.ThreadID, log []memory.Entry, since time.Time) Of {
	out := Of{}
	var by chat.User
	model := ""
	count := func(at time.Time, u llm.Usage) {
		if u == (llm.Usage{}) || at.Before(since) {
			return
		}
		k := Use{at.UTC().Format(time.DateOnly), thread.Platform, model, chat.User{ID: by.ID, Name: by.Name}}
		sum := out[k]
		sum.Prompt += u.Prompt
		sum.Cached += u.Cached
		sum.Completion += u.Completion
		out[k] = sum
	}
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Opened:
			by = b.Requester
		case memory.Step:
			model = b.Model
			count(e.At, b.Usage)
		case memory.Trimmed:
			count(e.At, b.Usage)
		}
	}
	return out
}
