package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Put implements [memory.Store]. Event ids are known within a channel.
func (s *Store) Put(ctx context.Context, thread chat.ThreadID, body memory.Body, eventIDs ...string) (bool, error) {
	p := putArgs{thread: thread.String(), shard: shardOfThread(thread), ids: inChannel(thread.Platform, thread.Channel, eventIDs)}
	effects := memory.EffectsOf(thread, []memory.Entry{{Body: body}})
	for _, ref := range effects.Refs {
		p.own, p.sent = ref.String(), effects.Last.Sent.Format(time.RFC3339Nano)
	}
	fresh, _, err := s.putEntry(ctx, p, body)
	return fresh, memory.Doing("put entry", err)
}

// PutRef implements [memory.Store].
func (s *Store) PutRef(ctx context.Context, ref chat.MessageRef, body memory.Body, eventIDs ...string) (bool, error) {
	p := putArgs{target: ref.String(), shard: shardOf(ref.Platform, ref.Channel), ids: inChannel(ref.Platform, ref.Channel, eventIDs)}
	fresh, elsewhere, err := s.putEntry(ctx, p, body)
	if err == nil && elsewhere != "" {
		var thread chat.ThreadID
		if thread, err = parseThread(elsewhere); err == nil {
			fresh, _, err = s.putEntry(ctx, putArgs{thread: elsewhere, shard: shardOfThread(thread), ids: p.ids}, body)
		}
	}
	return fresh, memory.Doing("put entry for message", err)
}

// putArgs is the destination of an entry: a thread, or the thread of a message.
type putArgs struct {
	shard     int
	thread    string
	own, sent string // the message that the entry is
	target    string
	ids       []string
}

// inChannel names events in their channel. Names of channels hold no space.
func inChannel(platform, channel string, ids []string) []string {
	name := chat.ThreadID{Platform: platform, Channel: channel}.String()
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, name+" "+id)
	}
	return out
}

// A put entry is in memory and nowhere else, so it is worth waiting for a server, as
// long as the caller may wait; without a deadline for putWait.
const putWait = 10 * time.Second

// bounded is a context that ends.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ends := ctx.Deadline(); ends {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, putWait)
}

// putEntry puts an entry. If the message names a thread of another shard, it puts
// nothing and returns that thread.
func (s *Store) putEntry(ctx context.Context, p putArgs, body memory.Body) (fresh bool, elsewhere string, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	raw, err := memory.Encode(body)
	if err != nil {
		return false, "", err
	}
	call, ttl := s.words.next(), memory.EventTTL
	if len(p.ids) == 0 {
		// The call itself is the event, for as long as it may be repeated.
		p.ids, ttl = []string{"call " + call}, time.Hour
	}
	args := []any{
		p.thread, raw, p.own, p.sent, p.target, memory.RefWait.Milliseconds(),
		call, int64(ttl.Seconds()), s.lease.Milliseconds(), s.keep.Milliseconds(), s.words.self, s.keys.mail(""),
	}
	for _, id := range p.ids {
		args = append(args, id)
	}
	r := newReply(s.durably(ctx, forever, putScript, p.shard, args...))
	state := r.int()
	if r.err == nil && state == 2 {
		elsewhere = r.text()
	}
	if r.err != nil {
		return false, "", r.err
	}
	if len(r.rest) > 0 {
		if thread, ok := r.next().(string); ok {
			s.held.mail(thread)
		}
	}
	return state == 1, elsewhere, nil
}

// Refer implements [memory.Referrer]. A message lies in the shard of its channel, and
// its thread may lie in another one. So the message's shard holds the thread's name,
// and every later put for the message forwards to it. Refer forwards the entries that
// waited, with ids of their own, so that each enters once.
func (s *Store) Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	shard, target := shardOf(ref.Platform, ref.Channel), ref.String()
	for sent := 0; ; {
		r := newReply(s.durably(ctx, forever, referScript, shard, target, thread.String(), memory.ReferTTL.Milliseconds(), sent))
		waiting := r.strings()
		if r.err != nil {
			return fmt.Errorf("refer to a thread: %w", r.err)
		}
		if sent = len(waiting); sent == 0 {
			return nil
		}
		for i, raw := range waiting {
			at, entry, _ := strings.Cut(raw, " ")
			id := "waited " + at + " " + strconv.Itoa(i) + " " + target
			p := putArgs{thread: thread.String(), shard: shardOfThread(thread), ids: inChannel(ref.Platform, ref.Channel, []string{id})}
			if _, _, err := s.putEntry(ctx, p, memory.Decode([]byte(entry))); err != nil {
				return fmt.Errorf("refer to a thread: %w", err)
			}
		}
	}
}
