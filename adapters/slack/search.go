package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// search is one look for messages in conversations, and for threads in them that
// the bot does not know: a conversation's history holds no replies, but says of
// each message that opens a thread when the last reply came.
type search struct {
	a      *Adapter
	lately map[string]string // conversations where something was heard, and up to when
	known  map[string]bool   // threads that are read in any case
	found  []strand          // others, that somebody wrote in
}

// strand is a thread that somebody wrote in after the bot had stopped listening.
type strand struct {
	channel, root string
	since         string
	latest        time.Time
}

func newSearch(a *Adapter, marks []chat.Watermark) *search {
	s := &search{a: a, lately: map[string]string{}, known: map[string]bool{}}
	for _, m := range slices.Backward(marks) {
		s.lately[channelOf(m.Thread.Channel)] = m.Last.ID
	}
	for _, m := range marks[:min(len(marks), mostThreads)] {
		s.known[channelOf(m.Thread.Channel)+" "+m.Thread.Root] = true
	}
	return s
}

// kindsOfRooms are the conversations that the bot may be in. They are asked for
// one kind at a time, since a scope that is missing is missing for one.
var kindsOfRooms = []string{"im", "public_channel", "private_channel", "mpim"}

// others lists the conversations in which nothing was heard lately.
func (s *search) others(ctx context.Context, since string) (map[string]string, error) {
	out := map[string]string{}
	var all error
	for _, kind := range kindsOfRooms {
		ids, err := s.a.conversations(ctx, url.Values{"types": {kind}}, mostRooms)
		all = errors.Join(all, missing(err))
		for _, id := range ids {
			if _, ok := s.lately[id]; !ok {
				out[id] = since
			}
		}
	}
	return out, all
}

// rooms looks for messages that open a thread: in direct conversations any,
// elsewhere those that mention the bot.
func (s *search) rooms(ctx context.Context, of map[string]string) error {
	var all error
	for channel, since := range of {
		if ctx.Err() != nil {
			return errors.Join(all, ctx.Err())
		}
		all = errors.Join(all, missing(s.room(ctx, channel, since)))
	}
	return all
}

// room looks in one conversation. It reads further back than what was missed, for
// threads that began before that.
func (s *search) room(ctx context.Context, channel, since string) error {
	from := sentAt(since)
	msgs, err := s.a.web.read(ctx, history{
		method: "conversations.history", channel: channel, oldest: stamp(from.Add(-rootsBack)), priority: outbox.Low,
	})
	if err != nil {
		return err
	}
	for _, ev := range msgs {
		latest := sentAt(ev.LatestReply)
		if latest.After(from) && !ev.isReply() && !s.known[channel+" "+ev.TS] {
			s.found = append(s.found, strand{channel, ev.TS, since, latest})
		}
	}
	return s.a.overdue(ctx, channel, slices.DeleteFunc(msgs, func(ev event) bool { return !sentAt(ev.TS).After(from) }))
}

// threads reads what was written in threads that the bot does not know. Only what
// calls it there is for it.
func (s *search) threads(ctx context.Context) error {
	slices.SortFunc(s.found, func(x, y strand) int { return y.latest.Compare(x.latest) })
	var all error
	for _, t := range s.found[:min(len(s.found), mostThreads)] {
		if ctx.Err() != nil {
			return errors.Join(all, ctx.Err())
		}
		all = errors.Join(all, s.a.replies(ctx, t.channel, t.root, t.since))
	}
	return all
}
