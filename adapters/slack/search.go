package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
)

// search is one look for messages in conversations, and for the threads in them
// that were written in: a conversation's history holds no replies, but says of each
// message that opens a thread when the last reply came. So of thousands of threads
// those are read that have something new, whether the bot knows them or not.
type search struct {
	a         *Adapter
	near, far []room            // where something was heard lately, the latest first
	heard     map[string]bool   // the conversations of these
	known     map[string]string // up to when threads were heard
	since     time.Time         // before that all was heard, everywhere
	found     []strand          // threads that somebody wrote in

	seen sync.Map // known threads that a history told of
	held sync.Map // lanes with a message that could not be put: what follows it there waits for the next look
}

// room is a conversation, and since when it is looked at.
type room struct{ channel, since string }

// strand is a thread that somebody wrote in since.
type strand struct {
	channel, root string
	since         string
	latest        time.Time
}

// newSearch begins a search. Events that were put side by side may be so much older
// than the last of which is known that it was.
func newSearch(a *Adapter, marks []chat.Watermark, since time.Time) *search {
	s := &search{a: a, heard: map[string]bool{}, known: map[string]string{}}
	if !since.IsZero() {
		s.since = since.Add(-unputBack)
	}
	for i, m := range marks {
		channel := api.ChannelOf(m.Thread.Channel)
		if m.Thread.Root != "" {
			s.known[channel+" "+m.Thread.Root] = m.Last.ID
		}
		if s.heard[channel] {
			continue
		}
		s.heard[channel] = true
		if r := (room{channel, m.Last.ID}); i < mostThreads {
			s.near = append(s.near, r)
		} else {
			s.far = append(s.far, r)
		}
	}
	return s
}

// kindsOfRooms are the conversations that the bot may be in. They are asked for
// one kind at a time, since a scope that is missing is missing for one.
var kindsOfRooms = []string{"im", "public_channel", "private_channel", "mpim"}

// others lists the conversations in which nothing was heard lately.
func (s *search) others(ctx context.Context, since string) ([]room, error) {
	var out []room
	var all error
	for _, kind := range kindsOfRooms {
		ids, err := s.a.conversations(ctx, url.Values{"types": {kind}}, mostRooms)
		all = errors.Join(all, missing(err))
		for _, id := range ids {
			if !s.heard[id] {
				out = append(out, room{id, since})
			}
		}
	}
	return out, all
}

// rooms looks for messages that open a thread: in direct conversations any,
// elsewhere those that mention the bot.
func (s *search) rooms(ctx context.Context, of []room) error {
	return each(ctx, of, func(r room) error { return s.room(ctx, r.channel, r.since) })
}

// each does something about all, until ctx ends, whatever fails.
func each[T any](ctx context.Context, of []T, do func(T) error) (all error) {
	for _, one := range of {
		if ctx.Err() != nil {
			return errors.Join(all, ctx.Err())
		}
		all = errors.Join(all, do(one))
	}
	return all
}

// room looks in one conversation. It reads further back than what was missed, for
// threads that began before that.
func (s *search) room(ctx context.Context, channel, since string) error {
	from := api.SentAt(since)
	msgs, err := s.a.web.Read(ctx, api.History{Channel: channel, Oldest: api.Stamp(from.Add(-rootsBack)), Priority: outbox.Low})
	if err != nil {
		return missing(err)
	}
	for _, ev := range msgs {
		if !ev.IsReply() {
			s.look(channel, ev, since)
		}
	}
	msgs = slices.DeleteFunc(msgs, func(ev api.Event) bool {
		_, known := s.known[channel+" "+ev.TS] // to put it again would be to look up who wrote it, for each of thousands
		return known || !api.SentAt(ev.TS).After(from)
	})
	return errors.Join(s.proveBelow(ctx, channel, msgs), s.overdue(ctx, channel, msgs))
}

// look notes a message that may open a thread, where somebody wrote in that.
func (s *search) look(channel string, ev api.Event, since string) {
	latest := api.SentAt(ev.LatestReply)
	if latest.IsZero() {
		return
	}
	last, known := s.known[channel+" "+ev.TS]
	if known {
		s.seen.Store(channel+" "+ev.TS, true)
		since = last
	}
	if latest.After(api.SentAt(since)) && (!known || latest.After(s.since)) {
		s.found = append(s.found, strand{channel, ev.TS, since, latest})
	}
}

// take gives what was found since it was asked last.
func (s *search) take() []strand {
	out := s.found
	s.found = nil
	return out
}

// threads reads what was written in threads, in those that were written in last
// first. Of those that the bot does not know only what calls it there is for it.
func (s *search) threads(ctx context.Context, found []strand) error {
	slices.SortFunc(found, func(x, y strand) int { return y.latest.Compare(x.latest) })
	return each(ctx, found[:min(len(found), mostThreads)], func(t strand) error { return s.replies(ctx, t.channel, t.root, t.since) })
}

// unseen reads the threads that no history told of, since they began too long ago
// or it could not be read.
func (s *search) unseen(ctx context.Context, marks []chat.Watermark) error {
	return each(ctx, marks[:min(len(marks), mostThreads)], func(m chat.Watermark) error {
		channel := api.ChannelOf(m.Thread.Channel)
		if _, seen := s.seen.Load(channel + " " + m.Thread.Root); m.Thread.Root == "" || seen {
			return nil
		}
		return s.replies(ctx, channel, m.Thread.Root, m.Last.ID)
	})
}
