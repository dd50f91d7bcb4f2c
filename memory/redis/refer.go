package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Refer implements [memory.Referrer]. A message lies in the shard of its channel,
// and the thread that it names may lie in another one. So the message's shard holds
// the name of the thread, and whoever puts something for the message puts it there:
// what waited for it already, under ids of its own, so that it enters once.
func (s *Store) Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	shard, target := shardOf(ref.Platform, ref.Channel), ref.String()
	for sent := 0; ; {
		r := newReply(s.durably(ctx, asLongAsWanted, referScript, shard, target, thread.String(), memory.ReferTTL.Milliseconds(), sent))
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
			if _, _, err := s.put(ctx, p, memory.Decode([]byte(entry))); err != nil {
				return fmt.Errorf("refer to a thread: %w", err)
			}
		}
	}
}

// sendOn puts what is for a message into the thread that it names.
func (s *Store) sendOn(ctx context.Context, p putArgs, name string, body memory.Body) (bool, error) {
	thread, err := parseThread(name)
	if err != nil {
		return false, err
	}
	fresh, _, err := s.put(ctx, putArgs{thread: name, shard: shardOfThread(thread), ids: p.ids}, body)
	return fresh, err
}
