package slack

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// receive handles an envelope: it is put, and then acknowledged. What can't be
// put is not acknowledged, so that Slack delivers it again.
func (a *Adapter) receive(ctx context.Context, env envelope, ack func(context.Context, envelope)) {
	if env.RetryAttempt > 0 {
		observed(a.o.Observe.Redelivered)
	}
	switch env.Type {
	case "events_api":
	case "interactive":
		ack(ctx, env) // it opens a window for whoever clicked, or nothing
		a.clicked(ctx, env.Payload)
		return
	default:
		ack(ctx, env)
		return
	}
	c, ev, err := readEvent(env.Payload)
	if err != nil {
		observed(a.o.Observe.Malformed)
		a.log.Warn("event not understood", "event_id", c.EventID, "type", ev.Type)
		ack(ctx, env)
		return
	}
	if !handled[ev.Type] {
		if ev.Type == "app_rate_limited" {
			a.log.Error("slack holds events back: too many in an hour")
			a.missed(gap{after: a.retry, overlap: unputBack})
		}
		ack(ctx, env)
		return
	}
	a.lanes.run(ctx, lane(ev), a.patience(ev), func(ctx context.Context) {
		a.accept(ctx, c, ev, func(ctx context.Context) { ack(ctx, env) })
	})
}

// accept puts an event and acknowledges it.
func (a *Adapter) accept(ctx context.Context, c callback, ev event, ack func(context.Context)) {
	err := a.put(ctx, c, ev)
	switch {
	case err == nil:
		ack(ctx)
	case errors.Is(err, errMalformed):
		observed(a.o.Observe.Malformed)
		a.log.Warn("event not understood", "event_id", c.EventID, "type", ev.Type)
		ack(ctx)
	default:
		a.log.Warn("event not put, slack will deliver it again", "event_id", c.EventID, "error", err)
		a.missed(gap{after: a.retry, overlap: unputBack})
	}
}

// put has an event do what it means.
func (a *Adapter) put(ctx context.Context, c callback, ev event) error {
	switch ev.Type {
	case "app_mention":
		return a.message(ctx, ev, messageKeys(c.EventID, ev))
	case "message":
		switch ev.Subtype {
		case "message_changed":
			return a.edited(ctx, c.EventID, ev)
		case "message_deleted":
			ts := ev.DeletedTS
			if ts == "" && ev.Previous != nil {
				ts = ev.Previous.TS
			}
			if ts == "" {
				return malformed("deletion without timestamp", nil)
			}
			return a.deleted(ctx, c.EventID, ev, ts)
		}
		return a.message(ctx, ev, messageKeys(c.EventID, ev))
	case "reaction_added", "reaction_removed":
		return a.reacted(ctx, c.EventID, ev)
	case "agent_session_stopped":
		return a.stopped(ctx, c.EventID, ev)
	case "app_home_opened":
		a.suggest(ev)
	}
	return nil
}

// lane names what an event is about; events of one lane are put in the order
// in which they came.
func lane(ev event) string {
	if on, ok := ev.on(); ok {
		return on.Channel + ":" + on.TS
	}
	for _, m := range []*event{ev.Message, ev.Previous} {
		if m != nil {
			return ev.Channel + ":" + m.root()
		}
	}
	if isDM(ev.Channel) {
		return ev.Channel
	}
	return ev.Channel + ":" + ev.root()
}

// lanes put events: those of one lane one after the other, others at the same
// time, up to a number.
type lanes struct {
	mu    *sync.Mutex
	last  map[string]chan struct{} // closed when the last of a lane is put
	slots chan struct{}
	all   *sync.WaitGroup
}

func newLanes() lanes {
	return lanes{mu: &sync.Mutex{}, last: map[string]chan struct{}{}, slots: make(chan struct{}, mostAtOnce), all: &sync.WaitGroup{}}
}

// run has do called once all before it in the lane have returned, with a
// context that ends when patience does. It waits only when very many are under
// way already.
func (l *lanes) run(ctx context.Context, name string, patience time.Duration, do func(context.Context)) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	mine := make(chan struct{})
	l.mu.Lock()
	before := l.last[name]
	l.last[name] = mine
	l.all.Add(1)
	l.mu.Unlock()
	go func() {
		defer l.all.Done()
		defer func() { <-l.slots }()
		defer cancel()
		defer l.leave(name, mine)
		if before != nil {
			<-before
		}
		do(ctx)
	}()
}

func (l *lanes) leave(name string, mine chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[name] == mine {
		delete(l.last, name)
	}
	close(mine)
}

// wait returns when nothing is under way.
func (l *lanes) wait() { l.all.Wait() }

// clicked handles a click on a button. Slack doesn't repeat clicks, so a lost
// one is only clicked again.
func (a *Adapter) clicked(ctx context.Context, payload json.RawMessage) {
	var in interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		observed(a.o.Observe.Malformed)
		a.log.Warn("click not understood")
		return
	}
	if in.Type != "block_actions" {
		return
	}
	for _, act := range in.Actions {
		if act.ActionID != showAll {
			continue
		}
		a.lanes.run(ctx, "click:"+in.TriggerID, callTimeout, func(ctx context.Context) {
			if err := a.showSteps(ctx, in, act.Value); err != nil {
				a.log.Warn("show steps in full", "error", err)
			}
		})
	}
}
