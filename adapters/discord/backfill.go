package discord

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
)

// Discord does not deliver what happened before a session began. So after each
// beginning the conversations that the bot is in are read from where they were
// heard up to, and the reactions on approvals that wait are looked at.

const (
	mostThreads = 500  // of those in which nothing is known to be new are read after a gap, the newest first
	mostBusy    = 2000 // channels without a conversation are looked through for a mention, the busiest lately first
	mostPages   = 5
	mostNew     = 20 // pages of what came after all that was heard
	lookers     = 8  // at a time
	// unputBack is how much older than one that was put an event may be that was
	// not: they are put side by side.
	unputBack = 15 * time.Minute
)

// Since looks once for messages. What a second gap takes must not wait for it. It
// always looks further back than what was heard. The gap knows when it is over.
func (a *Adapter) Since(ctx context.Context, marks []chat.Watermark, _ time.Duration) (found bool, err error) {
	sessions := a.gate.Look()
	var g errgroup.Group
	g.SetLimit(lookers)
	for _, s := range a.stretches(marks) { // in about their order
		g.Go(func() error { return a.overdue(ctx, s) })
	}
	if err = g.Wait(); err == nil {
		a.gate.Looked(sessions)
	}
	return false, err
}

// stretch is a part of a channel that is to be read.
type stretch struct {
	span
	last   string // what was heard last there
	direct bool
	own    bool // of one conversation: what came after the last that was heard was not put
}

// stretches says what is to be read, first what by the atlas was written in after all
// that was heard anywhere: at fifty calls a second the others take a while.
func (a *Adapter) stretches(marks []chat.Watermark) []stretch {
	if len(marks) == 0 {
		return nil // nothing was ever heard, so nothing was missed
	}
	t, heard := a.atlas, marks
	marks = a.notAfter(marks, a.gate.Before())
	newest := marks[0].Last.ID
	busy, all := t.Busy(newest, mostBusy)
	if all > len(busy) {
		a.log.Warn("not every channel is looked through for what was missed", "channels", all, "looked_through", len(busy))
	}
	since := map[string]string{}
	for _, id := range busy {
		since[id] = newest
	}
	var out []stretch
	quiet := 0
	for i, m := range marks {
		p := api.PlaceOf(m.Thread)
		where := chat.FirstOf(p.Thread, p.Channel)
		if !t.Wrote(where, newest) {
			if quiet++; quiet > mostThreads {
				continue
			}
		}
		delete(since, where)
		for _, s := range unheardIn(t, where, m.Last.ID, newest, p.Direct()) {
			s.own = m.Last == heard[i].Last
			out = append(out, s)
		}
	}
	for _, m := range slices.Backward(marks) {
		if p := api.PlaceOf(m.Thread); !p.Direct() {
			since[p.Channel] = m.Last.ID
		}
	}
	for _, id := range slices.Sorted(maps.Keys(since)) {
		out = append(out, unheardIn(t, id, since[id], newest, false)...)
	}
	slices.SortStableFunc(out, func(x, y stretch) int { return cmp.Compare(x.priority, y.priority) })
	return out
}

// notAfter moves what was heard in threads back to a time, where there is one, but not
// so far that what was put since would not be known any more.
func (a *Adapter) notAfter(marks []chat.Watermark, at time.Time) []chat.Watermark {
	if at.IsZero() {
		return marks
	}
	if oldest := a.o.Now().Add(-catchup.KnownFor); at.Before(oldest) {
		at = oldest
	}
	id := api.IDAt(at)
	marks = slices.Clone(marks)
	for i := range marks {
		if api.Snowflake(marks[i].Last.ID) > api.Snowflake(id) {
			marks[i].Last.ID = id
		}
	}
	return marks
}

// unheardIn is what of a channel or thread may not have been heard: what came after the
// last that was, and what is a little older and may not have been put. Where nothing is
// known to be new there is time, since in most of those places the bot wrote last. Of a
// direct conversation Discord does not say whether there is anything.
func unheardIn(t *atlas.Atlas, channel, last, newest string, direct bool) []stretch {
	all := stretch{span: span{channel, api.IDAt(api.SentAt(last).Add(-unputBack)), outbox.Low, mostPages, false}, last: last, direct: direct}
	switch {
	case direct:
		all.priority = outbox.Steps
	case t.Wrote(channel, newest):
		return []stretch{{span: span{channel, last, outbox.Answer, mostNew, false}, last: last}, all}
	}
	return []stretch{all}
}

// overdue puts the messages of a stretch as if they had just come. Those that came
// after all are known by their ids.
func (a *Adapter) overdue(ctx context.Context, s stretch) error {
	if may, known := a.atlas.KnownMay(s.channel); known && may&discordgo.PermissionReadMessageHistory == 0 && may&discordgo.PermissionViewChannel != 0 {
		a.log.Warn("what was missed in a channel can't be read: the bot lacks Read Message History there", "channel", s.channel)
		return nil
	}
	msgs, err := a.read(ctx, s.span)
	if err != nil {
		return missing(err)
	}
	if s.pages == mostNew && len(msgs) >= mostNew*pageSize {
		a.log.Warn("back-fill limit reached, older messages skipped", "channel", s.channel, "messages", len(msgs))
	}
	var in api.Channel
	if !s.direct && len(msgs) > 0 {
		if in, err = a.atlas.Channel(ctx, s.channel); err != nil {
			return missing(err)
		}
	}
	var all error
	held := map[string]bool{} // by the message that began a conversation
	for _, m := range msgs {
		m.ChannelID, m.GuildID = s.channel, in.GuildID
		root := "" // a thread is one conversation, and of a channel each chain of replies
		if !s.direct && !in.IsThread() {
			root = a.chain(m)
		}
		if held[root] {
			continue
		}
		err := a.putLate(ctx, s, m)
		if ctx.Err() != nil {
			return errors.Join(all, err)
		}
		if err != nil { // what follows it there waits for the next look, and nobody else does
			held[root] = true
			all = errors.Join(all, err)
		}
	}
	return all
}

// putLate puts a message of a stretch. What is older than the last that was heard
// counts only where it can't have been for others at the time, and where it is known
// whether it was put. Of a message that
// was changed it can't be known whether it called the bot before, and a change
// calls nobody.
func (a *Adapter) putLate(ctx context.Context, s stretch, m api.Message) error {
	if len(m.MentionRoles) > 0 { // a session that goes on does not tell which is the bot's
		if err := a.atlas.Learn(ctx, m.GuildID); err != nil && !api.Refused(err) {
			return err
		}
	}
	if m.Edited != "" && !s.direct {
		m = a.uncalled(m)
	}
	me, _ := a.mentions(m)
	called := s.direct || me || a.asked(m) != nil
	heard, old := api.Snowflake(m.ID) <= api.Snowflake(s.last), a.o.Now().Sub(api.SentAt(m.ID)) > catchup.KnownFor
	if heard && !called || old && (heard || !s.own) || a.Unborn(api.SentAt(m.ID)) {
		return nil
	}
	err := a.lanes.Do(ctx, s.channel, 0, func(ctx context.Context) error {
		return a.putOnce(ctx, func(ctx context.Context) error { return a.put(ctx, m, true) })
	})
	if errors.Is(err, errNotOurs) || api.Refused(err) {
		return nil
	}
	return err
}

// missing forgives what is not there any more, or not for the bot.
func missing(err error) error {
	switch api.Code(err) {
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeMissingAccess,
		discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeCannotExecuteActionOnThisChannelType:
		return nil
	}
	return err
}
