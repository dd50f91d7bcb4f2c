package discord

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
)

// Discord does not deliver what happened before a session began. So after each
// beginning the conversations that the bot is in are read from where they were
// heard up to, and the reactions on approvals that wait are looked at.

const (
	mostThreads = 500  // are read after a gap, the newest first
	mostBusy    = 2000 // channels without a conversation are looked through for a mention, the busiest lately first
	mostPages   = 5
	lookers     = 8           // at a time
	lookAgain   = time.Minute // after a look that failed
	// unputBack is how much older than one that was put an event may be that was
	// not: they are put side by side.
	unputBack = 15 * time.Minute
)

// away knows which shards have lost their connection. What was noted of a gap
// is kept until none is away, and no gap of any is left to look for.
type away struct {
	heard *catchup.Heard
	mu    sync.Mutex
	gone  map[int]bool // shards that are away, and may be back without a gap
	gap   bool         // a new session began, and what it missed was not looked for yet
}

func newAway(h *catchup.Heard) *away { return &away{heard: h, gone: map[int]bool{}} }

func (w *away) left(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[n] = true
}

// anew notes a shard whose new session leaves a gap.
func (w *away) anew(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.gone, n)
	w.gap = true
}

// back notes a shard whose session goes on.
func (w *away) back(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.gone, n)
	w.settle()
}

// begin takes up the gaps that there are.
func (w *away) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gap = false
}

// closed ends a look that has found everything.
func (w *away) closed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
}

func (w *away) settle() {
	if len(w.gone) == 0 && !w.gap {
		w.heard.Forget()
	}
}

// remember notes how far all threads were heard, before newer events hide a gap.
func (a *Adapter) remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.o.PutTimeout)
	defer cancel()
	if err := a.heard.Note(ctx); err != nil {
		a.log.Warn("note how far threads were heard", "error", err)
	}
}

// marks lists how far threads are heard.
func (a *Adapter) marks(ctx context.Context, since time.Time) iter.Seq2[chat.Watermark, error] {
	return a.o.Inbox.Watermarks(ctx, Platform, since)
}

// missed asks for a look at what was missed. It doesn't wait for it.
func (a *Adapter) missed() { a.looks.Missed(catchup.Gap{}) }

// backfill looks once, at approvals beside conversations: people wait for both.
// It always looks further back than what was heard.
func (a *Adapter) backfill(ctx context.Context, _ time.Duration) error {
	a.away.begin()
	marks, err := a.heard.UpTo(ctx)
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
		a.away.closed()
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
	busy, all := a.atlas.busy(marks[0].Last.ID, mostBusy)
	if all > len(busy) {
		a.log.Warn("not every channel is looked through for what was missed", "channels", all, "looked_through", len(busy))
	}
	for _, id := range busy {
		since[id] = marks[0].Last.ID
	}
	for _, m := range slices.Backward(marks) {
		if p := placeOf(m.Thread); !p.direct() {
			since[p.channel] = m.Last.ID
			delete(since, p.thread) // which is looked at by itself
		}
	}
	var g errgroup.Group
	g.SetLimit(lookers)
	for _, id := range slices.Sorted(maps.Keys(since)) {
		g.Go(func() error { return a.overdue(ctx, id, since[id], false) })
	}
	return g.Wait()
}

// overdue puts messages of a channel as if they had just come. Those that came
// after all are known by their ids. What is older than the last that was heard
// counts only where it can't have been for others at the time. Of a message that
// was changed it can't be known whether it called the bot before, and a change
// calls nobody.
func (a *Adapter) overdue(ctx context.Context, channel, last string, direct bool) error {
	if may, known := a.atlas.may(channel); known && may&discordgo.PermissionReadMessageHistory == 0 && may&discordgo.PermissionViewChannel != 0 {
		a.log.Warn("what was missed in a channel can't be read: the bot lacks Read Message History there", "channel", channel)
		return nil
	}
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
			m = a.uncalled(m)
		}
		me, _ := a.mentions(m)
		called := direct || me || a.asked(m) != nil
		if !called && snowflake(m.ID) <= snowflake(last) {
			continue
		}
		err := a.lanes.Do(ctx, channel, 0, func(ctx context.Context) error {
			return a.putOnce(ctx, func(ctx context.Context) error { return a.put(ctx, m, true) })
		})
		if err != nil && !errors.Is(err, errNotOurs) && !refused(err) {
			return err
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
