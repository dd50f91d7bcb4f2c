package discord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/chat/outbox"
)

// Discord does not deliver what happened before a session began. So after each
// beginning the conversations that the bot is in are read from where they were
// heard up to, and the reactions on approvals that wait are looked at.

const (
	mostThreads = 500 // are read after a gap, the newest first
	mostBusy    = 50  // channels without a conversation are looked through for a mention
	mostPages   = 5
	lookers     = 8 // at a time
	// unputBack is how much older than one that was put an event may be that was
	// not: they are put side by side.
	unputBack = 15 * time.Minute
)

// heard says how far each thread was heard when a shard lost its connection:
// once it has a new one, newer events would hide the gap.
type heard struct {
	mu    *sync.Mutex
	gone  map[int]bool // shards that are away, and may be back without a gap
	gap   bool         // a new session began, and what it missed was not looked for yet
	marks []chat.Watermark
	known bool
}

func newHeard() heard { return heard{mu: &sync.Mutex{}, gone: map[int]bool{}} }

func (h *heard) away(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone[n] = true
}

// anew notes a shard whose new session leaves a gap.
func (h *heard) anew(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.gone, n)
	h.gap = true
}

// back notes a shard whose session goes on.
func (h *heard) back(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.gone, n)
	if len(h.gone) == 0 && !h.gap {
		h.marks, h.known = nil, false
	}
}

// begin takes up the gaps that there are.
func (h *heard) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gap = false
}

// closed forgets how far threads were heard, unless there is a new gap.
func (h *heard) closed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.gone) == 0 && !h.gap {
		h.marks, h.known = nil, false
	}
}

// remember notes how far all threads were heard, unless that was noted for a
// gap that is still there. Where the store doesn't answer, the look itself asks.
func (a *Adapter) remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.o.PutTimeout)
	defer cancel()
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	if a.heard.known {
		return
	}
	marks, err := a.marks(ctx)
	if err != nil {
		a.log.Warn("note how far threads were heard", "error", err)
		return
	}
	a.heard.marks, a.heard.known = marks, true
}

// upTo gives what remember noted, and how far threads are heard now that were
// not known then: a second gap may have come before the first was closed.
func (a *Adapter) upTo(ctx context.Context) ([]chat.Watermark, error) {
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	now, err := a.marks(ctx)
	if err != nil || !a.heard.known {
		return now, err
	}
	out := slices.Clone(a.heard.marks)
	for _, m := range now {
		if !slices.ContainsFunc(a.heard.marks, func(o chat.Watermark) bool { return o.Thread == m.Thread }) {
			out = append(out, m)
		}
	}
	return out, nil
}

// marks lists how far threads are heard, the latest first.
func (a *Adapter) marks(ctx context.Context) ([]chat.Watermark, error) {
	var marks []chat.Watermark
	for m, err := range a.o.Inbox.Watermarks(ctx, Platform, a.o.Now().Add(-lookBack)) {
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(x, y chat.Watermark) int { return sentAt(y.Last.ID).Compare(sentAt(x.Last.ID)) })
	return marks, nil
}

// missed asks for a look at what was missed. It doesn't wait for it.
func (a *Adapter) missed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// catchUp looks for what was missed whenever there is a gap, until ctx is done.
// A look that fails is made again.
func (a *Adapter) catchUp(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-due:
		}
		due = nil
		if err := a.backfill(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("look for what was missed", "error", err)
			due = time.After(a.retry)
		}
	}
}

// backfill looks once, at approvals beside conversations: people wait for both.
func (a *Adapter) backfill(ctx context.Context) error {
	a.heard.begin()
	marks, err := a.upTo(ctx)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(lookers)
	g.Go(func() error { return a.reactions(ctx) })
	for _, m := range marks[:min(len(marks), mostThreads)] {
		g.Go(func() error { return a.resume(ctx, m) })
	}
	g.Go(func() error { return a.parents(ctx, marks) })
	if err = g.Wait(); err == nil {
		a.heard.closed()
	}
	return err
}

// resume puts what was written in a conversation since it was last heard.
func (a *Adapter) resume(ctx context.Context, m chat.Watermark) error {
	p := placeOf(m.Thread)
	where := p.channel
	if !p.direct() {
		where = p.thread
	}
	return a.overdue(ctx, where, m.Last.ID, p.direct())
}

// parents looks for mentions in channels: in those that have a conversation,
// and in those in which something was written meanwhile.
func (a *Adapter) parents(ctx context.Context, marks []chat.Watermark) error {
	if len(marks) == 0 {
		return nil // nothing was ever heard, so nothing was missed
	}
	since := map[string]string{}
	for _, id := range a.atlas.busy(marks[0].Last.ID) {
		if len(since) < mostBusy {
			since[id] = marks[0].Last.ID
		}
	}
	for _, m := range slices.Backward(marks) {
		if p := placeOf(m.Thread); !p.direct() {
			since[p.channel] = m.Last.ID
		}
	}
	var err error
	for _, id := range slices.Sorted(maps.Keys(since)) {
		err = errors.Join(err, a.overdue(ctx, id, since[id], false))
	}
	return err
}

// overdue puts messages of a channel as if they had just come. Those that came
// after all are known by their ids. What is older than the last that was heard
// counts only where it can't have been for others at the time. Of a message that
// was changed it can't be known whether it called the bot before, and a change
// calls nobody.
func (a *Adapter) overdue(ctx context.Context, channel, last string, direct bool) error {
	msgs, err := a.read(ctx, span{channel, idAt(sentAt(last).Add(-unputBack)), outbox.Low, mostPages})
	if err != nil {
		return missing(err)
	}
	guild := ""
	if !direct && len(msgs) > 0 {
		c, err := a.channel(ctx, channel)
		if err != nil {
			return missing(err)
		}
		guild = c.GuildID
	}
	for _, m := range msgs {
		m.ChannelID, m.GuildID = channel, guild
		if m.Edited != "" && !direct {
			m.Mentions = slices.DeleteFunc(m.Mentions, func(u mentioned) bool { return u.ID == a.self.who().ID })
		}
		me, _ := a.mentions(m)
		called := direct || me || a.asked(m) != nil
		if !called && snowflake(m.ID) <= snowflake(last) {
			continue
		}
		done := make(chan error, 1)
		a.lanes.run(ctx, channel, func(ctx context.Context) {
			done <- a.putOnce(ctx, func(ctx context.Context) error { return a.put(ctx, m, true) })
		})
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, errNotOurs) && !refused(err) {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// missing forgives what is not there any more, or not for the bot.
func missing(err error) error {
	switch code(err) {
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeMissingAccess,
		discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeCannotExecuteActionOnThisChannelType:
		return nil
	}
	return err
}
