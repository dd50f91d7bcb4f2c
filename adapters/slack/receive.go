package slack

import (
	"context"
	"errors"

	"nod/adapters/slack/api"
	"nod/chat/catchup"
	"nod/chat/inbound"
)

// receive handles an envelope: it is put, and then acknowledged, with an answer or nil. What
// can't be put is not acknowledged, so that Slack delivers it again.
func (a *Adapter) receive(ctx context.Context, env api.Envelope, ack func(answer any)) {
	if env.RetryAttempt > 0 {
		inbound.Count(a.o.Observe.Redelivered)
	}
	switch env.Type {
	case "events_api":
		inbound.Count(a.o.Observe.Event)
	case "interactive":
		inbound.Count(a.o.Observe.Event)
		a.interacted(ctx, env.Payload, ack)
		return
	default:
		ack(nil)
		return
	}
	c, ev, err := api.ReadEvent(env.Payload)
	if err != nil {
		inbound.Count(a.o.Observe.Malformed)
		a.log.Warn("event not understood", "event_id", c.EventID, "type", ev.Type)
		ack(nil)
		return
	}
	if !api.Handled[ev.Type] {
		if ev.Type == api.RateLimited {
			a.log.Error("slack holds events back: too many in an hour")
			a.missed(catchup.Gap{After: lookAgain, Overlap: unputBack})
		}
		ack(nil)
		return
	}
	if ev.Type == "app_home_opened" {
		ack(nil)
		a.opened(ctx, ev)
		return
	}
	c.Again = env.RetryAttempt > 0
	where := a.lane(ev)
	if ev.Type == "message" && inbound.IsStop(inbound.Uncalled(ev.Text, mention, a.isMe)) {
		a.giveUp(where)
	}
	a.lanes.Run(ctx, where, a.patience(ev), func(ctx context.Context) { a.accept(ctx, c, ev, ack) })
}

func (a *Adapter) accept(ctx context.Context, c api.Callback, ev api.Event, ack func(answer any)) {
	err := a.put(ctx, c, ev)
	switch {
	case err == nil:
		ack(nil)
	case errors.Is(err, api.ErrMalformed):
		inbound.Count(a.o.Observe.Malformed)
		a.log.Warn("event not understood", "event_id", c.EventID, "type", ev.Type)
		ack(nil)
	default:
		a.log.Warn("event not put, slack will deliver it again", "event_id", c.EventID, "error", err)
		a.missed(catchup.Gap{After: lookAgain, Overlap: unputBack})
	}
}

func (a *Adapter) put(ctx context.Context, c api.Callback, ev api.Event) error {
	switch ev.Type {
	case "app_mention":
		if len(ev.Edited) > 0 {
			return nil // an edit never starts a turn; of a message that was edited since, there is the event of the message
		}
		return a.message(ctx, ev, api.MessageKeys(c.EventID, ev))
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
				return api.Malformed("deletion without timestamp", nil)
			}
			return a.deleted(ctx, c.EventID, ev, ts)
		}
		return a.message(ctx, ev, api.MessageKeys(c.EventID, ev))
	case "reaction_added", "reaction_removed":
		return a.reacted(ctx, c, ev)
	case "agent_session_stopped":
		return a.stopped(ctx, c.EventID, ev)
	}
	return nil
}

// lane names what an event is about; events of one lane are put in the order
// in which they came.
func (a *Adapter) lane(ev api.Event) string {
	if on, ok := ev.On(); ok {
		return on.Channel + ":" + on.TS
	}
	if api.IsDM(ev.Channel) && a.o.DM == Flat {
		return ev.Channel
	}
	for _, m := range []*api.Event{ev.Message, ev.Previous} {
		if m != nil {
			return ev.Channel + ":" + m.Root()
		}
	}
	return ev.Channel + ":" + ev.Root()
}
