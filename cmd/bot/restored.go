package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"nod/adapters/discord"
	"nod/adapters/slack"
	"nod/chat"
	"nod/chat/catchup"
	"nod/front"
	"nod/memory"
)

// older takes note that the platform shows more of a thread than the store has. The first
// such proof is for the whole store. After a later one, of this process or another, the
// channel is told alone. doubted says that the thread's log knows already.
func (p *program) older(ctx context.Context, thread chat.ThreadID, doubted bool) error {
	p.noticing.Lock()
	defer p.noticing.Unlock()
	birth, err := catchup.Born(ctx, p.store)
	if err != nil {
		return err
	}
	if birth.At.Before(p.started) {
		p.log.Error("the store came back older: a platform shows more than it has", "thread", thread.String())
		return p.restored(ctx, p.copied, []chat.ThreadID{thread}, doubted)
	}
	return p.tell(ctx, birth, thread)
}

// Signature signs the key of a post and its thread with the key of the store. A copy of the
// store has the same. Where the configuration now draws threads otherwise no post is its own.
func (p *program) Signature(thread chat.ThreadID, key string) string {
	h := hmac.New(sha256.New, p.agent.Key)
	_, _ = h.Write([]byte("post " + thread.String() + " " + key)) // a hash never returns an error
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Found hears of a post of this store's that a look found. It proves that the store came
// back older if its turn came after the last entry of the thread's log: an entry is safe
// before a post comes of it. Nothing is proved by a post of this process, by one from before
// the store knew all, nor by one whose thread may have been erased as silent.
func (p *program) Found(ctx context.Context, own front.Own) error {
	turn, ok := memory.TurnOf(own.Key)
	keep := p.cfg.Memory.Keep
	if !ok || own.Sent.Before(p.birth) || !own.Sent.Before(p.started) || keep > 0 && time.Since(own.Sent) > keep/2 {
		return nil
	}
	log, err := p.store.Read(ctx, own.Thread)
	if err != nil {
		return fmt.Errorf("look whether a post is known: %w", err)
	}
	if reaches(log, turn) {
		return nil
	}
	return p.older(ctx, own.Thread, false)
}

// reaches says whether a log has an entry of that number, or a later one. Letters that no
// turn has taken in yet stand last, and have none.
func reaches(log []memory.Entry, seq uint64) bool {
	return slices.ContainsFunc(log, func(e memory.Entry) bool { return e.Seq >= seq })
}

// noticed is older, of the runner.
func (p *program) noticed(thread chat.ThreadID, doubted bool) {
	if err := p.older(context.Background(), thread, doubted); err != nil {
		p.log.Error("note that the store came back older", "thread", thread.String(), "error", err)
	}
}

// lastKnown is the latest time that a store knows of: when somebody listened last, or the
// last message.
func lastKnown(ctx context.Context, store memory.Full) (last time.Time) {
	note := func(at time.Time, err error) {
		if err == nil && at.After(last) {
			last = at
		}
	}
	for _, platform := range []string{slack.Platform, discord.Platform} {
		note(catchup.NewListened(store, platform+" listened", time.Now).Since(ctx))
		for m, err := range store.Watermarks(ctx, platform, time.Time{}, 1) {
			note(m.Sent, err)
		}
	}
	return last
}

// restored takes note that the store came back older, from a copy of that time. It is as if
// it was born now: no look puts what is older. No vote for an approval from before counts.
// Each channel of the threads is told once. doubted says that their logs know already.
func (p *program) restored(ctx context.Context, copied time.Time, threads []chat.ThreadID, doubted bool) error {
	birth := catchup.Birth{At: time.Now().UTC(), Copy: copied}
	if err := birth.Bear(ctx, p.store); err != nil {
		return err
	}
	doubt := func(thread chat.ThreadID, err error) error {
		lost := memory.Lost{Reason: "the store came back older: no approval from before counts"}
		if err == nil && !(doubted && slices.Contains(threads, thread)) {
			_, err = p.store.Put(ctx, thread, lost, restoredAt(birth)+"/"+thread.String())
		}
		if err != nil {
			return fmt.Errorf("note that the store came back older: %w", err)
		}
		return nil
	}
	var longest time.Duration // that a grant holds
	for _, t := range p.agent.Tools {
		longest = max(longest, t.Rules.Grants.Most)
	}
	for _, platform := range []string{slack.Platform, discord.Platform} {
		for w, err := range p.store.Pending(ctx, platform) {
			if err := doubt(w.Thread, err); err != nil {
				return err
			}
		}
		if longest == 0 {
			continue
		}
		for w, err := range p.store.Watermarks(ctx, platform, time.Now().Add(-longest), 0) {
			if err := doubt(w.Thread, err); err != nil {
				return err
			}
		}
	}
	for _, thread := range threads {
		if err := p.tell(ctx, birth, thread); err != nil {
			return err
		}
	}
	return nil
}

// restoredAt names that the store came back older.
func restoredAt(b catchup.Birth) string { return "restored/" + b.At.Format(time.RFC3339Nano) }

// tell has the channel of a thread told once that the store came back older.
func (p *program) tell(ctx context.Context, b catchup.Birth, thread chat.ThreadID) error {
	if _, err := p.store.Put(ctx, thread, memory.Restored{Copy: b.Copy}, restoredAt(b)); err != nil {
		return fmt.Errorf("note that the store came back older: %w", err)
	}
	return nil
}
