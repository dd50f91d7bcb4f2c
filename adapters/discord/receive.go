package discord

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/inbound"
	"nod/chat/intake"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// host is what the sessions of the Gateway see of an [Adapter].
type host struct{ *Adapter }

// Start asks Discord how to connect.
func (h host) Start(ctx context.Context) (gateway.Start, error) {
	return api.Get[gateway.Start](ctx, h.rest, outbox.Approval, "/gateway/bot")
}

// Self is the id of the bot.
func (h host) Self() string { return h.self.who().ID }

// Greeted takes in who the bot is, as a new session says.
func (h host) Greeted(raw json.RawMessage) {
	var me api.User
	if json.Unmarshal(raw, &me) == nil && me.ID != "" {
		h.self.me.Store(&me)
	}
}

// Receive takes an event in. It returns once the event waits in its lane, so that a
// resume brings an event again for which it did not return. It holds the connection up
// only when very many events wait.
func (h host) Receive(ctx context.Context, e gateway.Event) {
	drawn, err := h.atlas.Draws(e.Kind, e.Data)
	if !drawn {
		err = h.take(ctx, e)
	}
	if err != nil {
		h.Malformed(e.Kind)
	}
}

// Missed asks for a look for messages and votes.
func (h host) Missed() { h.Adapter.Missed(catchup.Gap{}) }

// Recount asks for a look for votes.
func (h host) Recount() { h.MissedVotes() }

// Malformed counts an event that is not understood.
func (h host) Malformed(kind string) {
	inbound.Count(h.o.Observe.Malformed)
	h.log.Warn("event not understood", "type", kind)
}

// deliver puts an event. late says that it comes again, or that an earlier try failed.
type deliver func(ctx context.Context, late bool) error

func (a *Adapter) take(ctx context.Context, e gateway.Event) error {
	switch e.Kind {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, err := api.ReadMessage(e.Data)
		if err != nil {
			return err
		}
		a.inLane(ctx, m.ChannelID, e, func(ctx context.Context, _ bool) error {
			if e.Kind == "MESSAGE_UPDATE" {
				return a.edited(ctx, m)
			}
			return a.put(ctx, m, false)
		})
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		d, err := api.ReadDeletion(e.Data)
		if err != nil {
			return err
		}
		a.inLane(ctx, d.ChannelID, e, func(ctx context.Context, _ bool) error { return a.deleted(ctx, d) })
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI":
		return a.takeReaction(ctx, e)
	case "INTERACTION_CREATE":
		in, err := api.ReadInteraction(e.Data)
		if err != nil {
			return err
		}
		if files := in.Files(); in.Type == discordgo.InteractionApplicationCommand && len(files) > 0 { // another process may be faster to show it
			a.asides.brings(in.ID, api.Message{Attachments: files})
		}
		a.clicks.TryGo(func() error { // beyond so many the answer would come too late anyway
			ctx, cancel := context.WithTimeout(ctx, clickTimeout)
			defer cancel()
			a.interact(ctx, in)
			return nil
		})
	}
	return nil
}

// takeReaction puts a reaction in the lane of its message: it need not wait
// for the files of others.
func (a *Adapter) takeReaction(ctx context.Context, e gateway.Event) error {
	r, err := api.ReadReaction(e.Data)
	if err != nil {
		return err
	}
	put := func(ctx context.Context, _ bool) error {
		return a.Recount(ctx, func(ref chat.MessageRef) bool { return ref.ID == r.MessageID })
	}
	if e.Kind == "MESSAGE_REACTION_REMOVE_ALL" || e.Kind == "MESSAGE_REACTION_REMOVE_EMOJI" {
		a.turns.cleared(r)
	}
	if e.Kind == "MESSAGE_REACTION_ADD" || e.Kind == "MESSAGE_REACTION_REMOVE" {
		if r.UserID == "" || r.Emoji.APIName() == "" {
			return api.ErrMalformed
		}
		f := flip{Reaction: r, removed: e.Kind == "MESSAGE_REACTION_REMOVE"}
		f.id = a.turns.key(r, f.removed, a.o.Now())
		put = func(ctx context.Context, late bool) error { return a.reacted(ctx, f, late) }
	}
	a.inLane(ctx, r.ChannelID+" "+r.MessageID, e, put)
	return nil
}

const (
	firstRetry   = 50 * time.Millisecond
	longestWait  = 5 * time.Second
	patience     = 10 * time.Minute // after that an event is left to the look for what was missed
	mostAtOnce   = 512              // events that are being put
	mostClicks   = 256
	putTimeout   = 5 * time.Second // for putting one event, before it is tried again
	clickTimeout = 30 * time.Second
)

// inLane has an event put, after those before it in the lane. What fails is
// tried again for a while, since Discord will not deliver it again.
func (a *Adapter) inLane(ctx context.Context, lane string, e gateway.Event, put deliver) {
	done := func() {}
	if e.Hold != nil {
		done = e.Hold()
	}
	a.lanes.Run(ctx, lane, 0, func(ctx context.Context) {
		if a.persist(ctx, e.Late, put) {
			done()
		}
	})
}

// persist says whether the event is put, or need not be.
func (a *Adapter) persist(ctx context.Context, late bool, put deliver) bool {
	began := a.o.Now()
	for pause := firstRetry; ; pause, late = min(2*pause, longestWait), true {
		err := a.putOnce(ctx, func(ctx context.Context) error { return put(ctx, late) })
		switch {
		case err == nil, errors.Is(err, errNotOurs):
			return true
		case ctx.Err() != nil:
			return false
		case api.Refused(err) && !api.Blank(err) && !api.Passes(err):
			a.log.Warn("event dropped: discord does not say where it belongs", "error", err)
			return true
		case a.o.Now().Sub(began) > patience:
			a.log.Error("event given up", "error", err)
			a.Missed(catchup.Gap{})
			return true
		}
		a.log.Warn("event not put, trying again", "error", err)
		if retry.Sleep(ctx, pause) != nil {
			return false
		}
	}
}

func (a *Adapter) putOnce(ctx context.Context, put func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout+intake.Wait)
	defer cancel()
	return put(ctx)
}
