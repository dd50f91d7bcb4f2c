package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
	"nod/front"
)

// Slack does not deliver what happened while no socket was open. So after each
// gap the threads that the bot is in are read from where they were heard up
// to, then all conversations that it is in from when somebody listened last, and
// the reactions on approvals that wait are looked at.

const (
	mostThreads = 500  // are read after a gap, the newest first
	mostRooms   = 1000 // of each kind are looked at; more than that only where something was heard lately
	pageOfRooms = 200
	lookAgain   = time.Minute      // after a look that failed, or an event that was not put
	unputBack   = 15 * time.Minute // an event that was not put may be so much older than one that was

	rootsBack = 7 * 24 * time.Hour // a thread that began so much before the gap may be written in for the first time
)

// missed asks for a look at what was missed. It doesn't wait for it.
func (a *Adapter) missed(g catchup.Gap) {
	if g.After == 0 {
		a.sockets.begun.Store(true)
	}
	a.Missed(g)
}

// Since looks for messages: first in the conversations of the threads that
// were heard of last, whose histories say which threads were written in, and then
// in those threads and in all other conversations side by side, since Slack limits
// histories and threads apart.
func (a *Adapter) Since(ctx context.Context, marks []chat.Watermark, overlap time.Duration) (found bool, err error) {
	for i, m := range marks {
		if overlap > 0 && !m.Sent.IsZero() {
			marks[i].Last.ID = api.Stamp(m.Sent.Add(-overlap))
		}
	}
	since, err := a.Unheard(ctx, marks, overlap)
	s := newSearch(a, marks, since)
	err = errors.Join(err, s.read(ctx, s.near))
	told, threads := make(chan error, 1), append(s.threads(), s.unseen(marks)...)
	go func() { told <- s.read(ctx, threads) }()
	err = errors.Join(err, s.read(ctx, s.far))
	if !since.IsZero() {
		others, failed := s.others(ctx, api.Stamp(since))
		err = errors.Join(err, failed, s.read(ctx, others))
	}
	return true, errors.Join(err, <-told, s.read(ctx, s.threads()))
}

// conversations lists conversations of the bot, or those that it shares with
// somebody, page by page.
func (a *Adapter) conversations(ctx context.Context, args url.Values, most int) (ids []string, err error) {
	args.Set("limit", strconv.Itoa(pageOfRooms))
	args.Set("exclude_archived", "true")
	all, err := api.Pages[struct {
		ID string `json:"id"`
	}](ctx, a.web, api.Request{Method: "users.conversations", Args: args, Priority: outbox.Low}, most)
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids, err
}

// missing forgives what is not there any more, or not for the bot.
func missing(err error) error {
	if c := api.Code(err); c != "" && (slices.Contains(api.GoneCodes, c) || c == "missing_scope" || c == "method_not_supported_for_channel_type") {
		return nil
	}
	return err
}

// overdue puts messages of a history as if they had just come. They were
// numbered by Slack, so those that came after all are known; but of what is older than
// event ids are it can't be known, and nobody is answered twice. One that can't be put
// holds up those after it in its thread, and no others.
func (s *search) overdue(ctx context.Context, channel string, msgs []api.Event) error {
	a := s.a
	all := s.prove(ctx, channel, msgs)
	slices.SortFunc(msgs, func(x, y api.Event) int { return api.SentAt(x.TS).Compare(api.SentAt(y.TS)) })
	for _, ev := range msgs {
		ev.Channel, ev.Type = channel, "message"
		if at := api.SentAt(ev.TS); at.IsZero() || a.o.Now().Sub(at) > catchup.KnownFor || a.Unborn(at) {
			continue
		}
		lane := a.lane(ev)
		if _, held := s.held.Load(lane); held {
			continue
		}
		err := a.lanes.Do(ctx, lane, a.patience(ev)+api.CallTimeout, func(ctx context.Context) error {
			return a.message(ctx, ev, api.MessageKeys("", ev))
		})
		if ctx.Err() != nil {
			return errors.Join(all, err)
		}
		if err != nil {
			s.held.Store(lane, true)
			all = errors.Join(all, err)
		}
	}
	return all
}

// prove has the bot's posts looked at before anything beside them is put: one that the
// store does not know proves that the store is older.
func (s *search) prove(ctx context.Context, channel string, msgs []api.Event) (all error) {
	for _, ev := range msgs {
		if m, ok := markOf(ev); ok && ev.By(s.a.who()) {
			ev.Channel = channel
			all = errors.Join(all, s.a.FoundOwn(ctx, front.Own{Thread: s.a.threadOf(ev), Key: m.Payload.Key, Sign: m.Payload.Sign, Sent: api.SentAt(ev.TS)}))
		}
	}
	return all
}

// proveBelow does so in the threads of unknown messages in which the bot wrote.
func (s *search) proveBelow(ctx context.Context, channel string, roots []api.Event) (all error) {
	for _, ev := range roots {
		if !slices.Contains(ev.ReplyUsers, s.a.who().UserID) {
			continue
		}
		replies, err := s.a.web.Read(ctx, api.History{Channel: channel, Thread: ev.TS, Priority: outbox.Low})
		all = errors.Join(all, missing(err), s.prove(ctx, channel, replies))
	}
	return all
}
