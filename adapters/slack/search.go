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
	near, far []strand          // conversations where something was heard lately, the latest first
	heard     map[string]bool   // these
	known     map[string]string // up to when threads were heard
	seen      map[string]bool   // known threads that a history told of
	since     time.Time         // before that all was heard, everywhere
	found     []strand          // threads that somebody wrote in
	held      sync.Map          // lanes with a message that could not be put: what follows it there waits for the next look
}

// strand is a conversation, or with a root a thread of it, that is looked at from since on.
type strand struct {
	channel, root string
	since         string
	latest        time.Time // when somebody wrote in the thread last
}

// newSearch begins a search. Events that were put side by side may be so much older
// than the last of which is known that it was.
func newSearch(a *Adapter, marks []chat.Watermark, since time.Time) *search {
	s := &search{a: a, heard: map[string]bool{}, known: map[string]string{}, seen: map[string]bool{}}
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
		if r := (strand{channel: channel, since: m.Last.ID}); i < mostThreads {
			s.near = append(s.near, r)
		} else {
			s.far = append(s.far, r)
		}
	}
	return s
}

// others lists the conversations in which nothing was heard lately. They are asked for
// one kind at a time, since a scope that is missing is missing for one.
func (s *search) others(ctx context.Context, since string) (out []strand, all error) {
	for _, kind := range []string{"im", "public_channel", "private_channel", "mpim"} {
		ids, err := s.a.conversations(ctx, url.Values{"types": {kind}}, mostRooms)
		all = errors.Join(all, missing(err))
		for _, id := range ids {
			if !s.heard[id] {
				out = append(out, strand{channel: id, since: since})
			}
		}
	}
	return out, all
}

// read looks at all of these, until ctx ends, whatever fails: in direct conversations for
// any message, elsewhere for those that mention the bot. Of threads that the bot does not
// know only what calls it there is for it.
func (s *search) read(ctx context.Context, of []strand) (all error) {
	for _, t := range of {
		switch {
		case ctx.Err() != nil:
			return errors.Join(all, ctx.Err())
		case t.root == "":
			all = errors.Join(all, s.room(ctx, t))
		default:
			msgs, err := s.a.web.Read(ctx, api.History{Channel: t.channel, Thread: t.root, Oldest: t.since, Priority: outbox.Low})
			if err != nil {
				all = errors.Join(all, missing(err))
				continue
			}
			all = errors.Join(all, s.overdue(ctx, t.channel, msgs))
		}
	}
	return all
}

// room looks in one conversation. It reads further back than what was missed, for
// threads that began before that.
func (s *search) room(ctx context.Context, r strand) error {
	from := api.SentAt(r.since)
	msgs, err := s.a.web.Read(ctx, api.History{Channel: r.channel, Oldest: api.Stamp(from.Add(-rootsBack)), Priority: outbox.Low})
	if err != nil {
		return missing(err)
	}
	for _, ev := range msgs {
		if !ev.IsReply() {
			s.look(r, ev)
		}
	}
	msgs = slices.DeleteFunc(msgs, func(ev api.Event) bool {
		_, known := s.known[r.channel+" "+ev.TS] // to put it again would be to look up who wrote it, for each of thousands
		return known || !api.SentAt(ev.TS).After(from)
	})
	return errors.Join(s.proveBelow(ctx, r.channel, msgs), s.overdue(ctx, r.channel, msgs))
}

// look notes a message that may open a thread, where somebody wrote in that.
func (s *search) look(r strand, ev api.Event) {
	latest := api.SentAt(ev.LatestReply)
	if latest.IsZero() {
		return
	}
	last, known := s.known[r.channel+" "+ev.TS]
	if known {
		s.seen[r.channel+" "+ev.TS] = true
		r.since = last
	}
	if latest.After(api.SentAt(r.since)) && (!known || latest.After(s.since)) {
		s.found = append(s.found, strand{r.channel, ev.TS, r.since, latest})
	}
}

// threads gives those that were found since it was asked last, first those that were written
// in last.
func (s *search) threads() []strand {
	out := s.found
	s.found = nil
	slices.SortFunc(out, func(x, y strand) int { return y.latest.Compare(x.latest) })
	return out[:min(len(out), mostThreads)]
}

// unseen gives the threads that no history told of, since they began too long ago
// or it could not be read.
func (s *search) unseen(marks []chat.Watermark) (out []strand) {
	for _, m := range marks[:min(len(marks), mostThreads)] {
		channel := api.ChannelOf(m.Thread.Channel)
		if m.Thread.Root != "" && !s.seen[channel+" "+m.Thread.Root] {
			out = append(out, strand{channel: channel, root: m.Thread.Root, since: m.Last.ID})
		}
	}
	return out
}
