package main

import (
	"context"
	"fmt"
	"time"

	"nod/adapters/discord"
	"nod/adapters/slack"
	"nod/chat"
	"nod/chat/catchup"
	"nod/memory"
)

// restored takes note that the store came back older, from a copy of that time. It is as if
// it was born now: no look puts what is older. No vote for an approval from before counts.
// Each channel of the threads is told once.
func (p *program) restored(ctx context.Context, copied time.Time, threads []chat.ThreadID) error {
	now := time.Now().UTC()
	if err := (catchup.Birth{At: now, Copy: copied}).Bear(ctx, p.store); err != nil {
		return err
	}
	id := "restored/" + now.Format(time.RFC3339Nano)
	for _, platform := range []string{slack.Platform, discord.Platform} {
		for w, err := range p.store.Pending(ctx, platform) {
			if err != nil {
				return fmt.Errorf("list approvals: %w", err)
			}
			lost := memory.Lost{Reason: "the store came back older: no approval from before counts"}
			if _, err := p.store.Put(ctx, w.Thread, lost, id+"/"+w.Thread.String()); err != nil {
				return fmt.Errorf("note that the store came back older: %w", err)
			}
		}
	}
	for _, thread := range threads {
		if _, err := p.store.Put(ctx, thread, memory.Restored{Copy: copied}, id); err != nil {
			return fmt.Errorf("note that the store came back older: %w", err)
		}
	}
	return nil
}
