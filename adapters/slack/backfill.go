package slack

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
)

// Slack does not deliver what happened while no socket was open. So after each
// gap the threads that the bot is in are read from where they were heard up
// to, and the reactions on approvals that wait are looked at.

const (
	lookBack    = 72 * time.Hour // as long as event ids are known
	mostThreads = 500            // are read after a gap, the newest first
	mostDMs     = 1000           // of which are asked for; more than that only where they were active lately
	pageOfDMs   = 200
	mostPages   = 5
	pageSize    = 1000
	lookAgain   = time.Minute      // after a look that failed, or an event that was not put
	unputBack   = 15 * time.Minute // an event that was not put may be so much older than one that was
)

// remember notes how far all threads were heard, before newer events hide a gap.
func (a *Adapter) remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.o.AckTimeout)
	defer cancel()
	if err := a.heard.Note(ctx); err != nil {
		a.log.Warn("note how far threads were heard", "error", err)
	}
}

// marks lists how far threads are heard.
func (a *Adapter) marks(ctx context.Context) iter.Seq2[chat.Watermark, error] {
	return a.o.Inbox.Watermarks(ctx, Platform, a.o.Now().Add(-lookBack))
}

// missed asks for a look at what was missed. It doesn't wait for it.
func (a *Adapter) missed(g catchup.Gap) {
	if g.After == 0 {
		a.live.begin()
	}
	a.looks.Missed(g)
}

// backfill looks once, for messages and for votes side by side: Slack limits them
// apart, and neither waits for as many of the other as there are.
func (a *Adapter) backfill(ctx context.Context, overlap time.Duration) error {
	votes := make(chan error, 1)
	go func() { votes <- a.reactions(ctx) }()
	err := a.overlooked(ctx, overlap)
	if err = errors.Join(err, <-votes); err == nil {
		a.heard.Close()
	}
	return err
}

// overlooked looks for messages.
func (a *Adapter) overlooked(ctx context.Context, overlap time.Duration) error {
	marks, err := a.heard.UpTo(ctx)
	for i, m := range marks {
		if overlap > 0 && !m.Sent.IsZero() {
			marks[i].Last.ID = stamp(m.Sent.Add(-overlap))
		}
	}
	err = errors.Join(err, a.channels(ctx, marks))
	for _, m := range marks[:min(len(marks), mostThreads)] {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.Thread.Root != "" {
			err = errors.Join(err, a.replies(ctx, m))
		}
	}
	return err
}

// replies puts what was written in a thread since it was last heard.
func (a *Adapter) replies(ctx context.Context, m chat.Watermark) error {
	msgs, err := a.web.read(ctx, history{
		method: "conversations.replies", channel: channelOf(m.Thread.Channel), thread: m.Thread.Root,
		oldest: m.Last.ID, priority: outbox.Low,
	})
	if err != nil {
		return missing(err)
	}
	return a.overdue(ctx, channelOf(m.Thread.Channel), msgs)
}

// channels looks for messages that open a thread: in direct conversations any,
// elsewhere those that mention the bot.
func (a *Adapter) channels(ctx context.Context, marks []chat.Watermark) error {
	if len(marks) == 0 {
		return nil // nothing was ever heard here, so nothing was missed
	}
	oldest := map[string]string{}
	for _, m := range slices.Backward(marks) {
		oldest[channelOf(m.Thread.Channel)] = m.Last.ID
	}
	dms, err := a.conversations(ctx, url.Values{"types": {"im"}}, mostDMs)
	if err != nil {
		err = missing(err)
	}
	for _, id := range dms {
		if _, ok := oldest[id]; !ok {
			oldest[id] = marks[0].Last.ID
		}
	}
	for channel, since := range oldest {
		msgs, failed := a.web.read(ctx, history{method: "conversations.history", channel: channel, oldest: since, priority: outbox.Low})
		if failed == nil {
			failed = a.overdue(ctx, channel, msgs)
		}
		err = errors.Join(err, missing(failed))
	}
	return err
}

// conversations lists conversations of the bot, or those that it shares with
// somebody, page by page.
func (a *Adapter) conversations(ctx context.Context, args url.Values, most int) ([]string, error) {
	args.Set("limit", strconv.Itoa(pageOfDMs))
	args.Set("exclude_archived", "true")
	var out []string
	for len(out) < most {
		var said struct {
			Channels []struct {
				ID string `json:"id"`
			} `json:"channels"`
			Meta struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := a.web.call(ctx, request{method: "users.conversations", args: args, priority: outbox.Low, answer: &said}); err != nil {
			return out, err
		}
		for _, c := range said.Channels {
			out = append(out, c.ID)
		}
		if said.Meta.Next == "" {
			break
		}
		args.Set("cursor", said.Meta.Next)
	}
	return out, nil
}

// missing forgives what is not there any more, or not for the bot.
func missing(err error) error {
	if c := code(err); c != "" && (slices.Contains(goneCodes, c) || c == "missing_scope" || c == "method_not_supported_for_channel_type") {
		return nil
	}
	return err
}

// overdue puts messages of a history as if they had just come. They were
// numbered by Slack, so those that came after all are known.
func (a *Adapter) overdue(ctx context.Context, channel string, msgs []event) error {
	slices.SortFunc(msgs, func(x, y event) int { return sentAt(x.TS).Compare(sentAt(y.TS)) })
	for _, ev := range msgs {
		ev.Channel, ev.Type = channel, "message"
		if sentAt(ev.TS).IsZero() {
			continue
		}
		err := a.lanes.Do(ctx, a.lane(ev), a.patience(ev)+callTimeout, func(ctx context.Context) error {
			return a.message(ctx, ev, messageKeys("", ev))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
