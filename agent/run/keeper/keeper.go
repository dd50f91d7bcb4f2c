// Package keeper keeps the logs of alerts: it performs what package incidents says. Each
// alert has a log of its own, which one process at a time holds. Every step is a message
// into the thread of an incident, under an id of its own, and then the new state. So a step
// that a crash cut off is repeated, and has one effect.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/agent/incidents"
	"nod/chat"
	"nod/memory"
)

// Begin begins a thread in a channel, slack:ID or discord:ID, with a post. With look, an
// earlier attempt may have got through.
type Begin func(ctx context.Context, channel string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error)

// Keeper keeps the logs of all alerts. Several processes may keep the same ones.
type Keeper struct {
	Store   memory.Store
	Rules   map[string]incidents.Rules // by name
	Begin   Begin
	Log     *slog.Logger
	Observe func(alert, outcome string) // hears of each alert that was dealt with
}

// pause is how long a log rests after a failure. After each further one it is doubled, up
// to mostDoubled times.
const (
	pause       = 5 * time.Second
	mostDoubled = 6
)

// Run keeps the logs until ctx is done.
func (k *Keeper) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	for ctx.Err() == nil {
		held, err := k.Store.Next(ctx, incidents.Platform)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, memory.ErrFenced) {
				return nil
			}
			k.Log.Warn("take the log of an alert", "error", err)
			rest(ctx, pause)
			continue
		}
		all.Go(func() { k.keep(ctx, held) })
	}
	return nil
}

func rest(ctx context.Context, how time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(how):
	}
}

// keep does all that is to be done about an alert, and lets its log go.
func (k *Keeper) keep(ctx context.Context, held *memory.Run) {
	rules, known := k.Rules[held.Thread.Channel]
	began := time.Now()
	failed := 0 // times in a row
	for ctx.Err() == nil {
		now := held.Now.Add(time.Since(began))
		var deed *incidents.Deed
		var wake time.Time
		if known { // else the file has it no more
			deed, wake = rules.Next(held.Log, now)
		}
		var err error
		if deed != nil {
			err = k.do(ctx, held, rules, deed, failed > 0)
		} else {
			var more bool
			if more, err = k.Store.Finish(ctx, held, wake); !more && err == nil {
				return
			}
		}
		switch {
		case errors.Is(err, memory.ErrFenced):
			return
		case err == nil:
			failed = 0
		case ctx.Err() == nil:
			k.Log.Warn("deal with an alert", "alert", rules.Name, "error", err)
			rest(ctx, pause<<min(failed, mostDoubled))
			failed++
		}
	}
	if err := k.Store.Handoff(context.WithoutCancel(ctx), held); err != nil && !errors.Is(err, memory.ErrFenced) {
		k.Log.Warn("hand the log of an alert on", "alert", rules.Name, "error", err)
	}
}

// do puts the message of a deed into the thread of its incident, which it begins where
// there is none yet, and then commits the state.
func (k *Keeper) do(ctx context.Context, held *memory.Run, rules incidents.Rules, d *incidents.Deed, again bool) error {
	if d.Put != nil {
		i := &d.State.All[d.At]
		if i.Thread == (chat.ThreadID{}) {
			ref, err := k.open(ctx, rules, i, again || d.Since < held.Claimed)
			if err != nil {
				return err
			}
			d.Put.Ref = ref
		}
		a := d.Put.Alert
		id := strings.Join([]string{"alert", a.Name, a.ID, string(a.As)}, ":")
		if _, err := k.Store.Put(ctx, i.Thread, *d.Put, id); err != nil {
			return fmt.Errorf("put an alert into its thread: %w", err)
		}
	}
	if _, err := k.Store.Commit(ctx, held, d.State); err != nil {
		return fmt.Errorf("note what became of an alert: %w", err)
	}
	if d.Put != nil {
		k.Observe(rules.Name, string(d.Put.Alert.As))
	}
	return nil
}

// open begins the thread of an incident by a post in the alert's channel.
func (k *Keeper) open(ctx context.Context, rules incidents.Rules, i *memory.Incident, look bool) (ref chat.MessageRef, err error) {
	key := memory.PostKey("alert/"+rules.Name+"/"+i.ID, "")
	i.Thread, ref, err = k.Begin(ctx, rules.In, chat.Post{Key: key, Text: &chat.Text{Markdown: rules.Head(i.Key), Notice: true}}, look)
	if err != nil {
		return ref, fmt.Errorf("begin a thread: %w", err)
	}
	return ref, nil
}

// Held lists the incidents that wait in the channel of a thread, slack:ID or discord:ID,
// the oldest first.
func (k *Keeper) Held(ctx context.Context, channel string, thread chat.ThreadID, logs memory.Reader) (out []memory.Incident, err error) {
	for _, name := range slices.Sorted(maps.Keys(k.Rules)) {
		r := k.Rules[name]
		log, err := logs.Read(ctx, r.Log())
		if err != nil {
			return nil, fmt.Errorf("read the log of an alert: %w", err)
		}
		for _, i := range incidents.Held(log) {
			if r.In == channel || i.Thread.Platform == thread.Platform && i.Thread.Channel == thread.Channel {
				out = append(out, i)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Incident) int { return a.First.Compare(b.First) })
	return out, nil
}
