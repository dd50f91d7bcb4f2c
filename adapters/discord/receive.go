package discord

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"nod/chat/inbound"
	"nod/chat/intake"
	"nod/chat/retry"
)

// receive takes an event in. It returns once the event waits in its lane, and
// so comes again with a resume if it doesn't return: only when very much waits
// does it hold up the connection.
func (a *Adapter) receive(ctx context.Context, kind string, data json.RawMessage) {
	drawn, err := a.atlas.draws(kind, data)
	if !drawn {
		err = a.take(ctx, kind, data)
	}
	if err != nil {
		a.malformed(kind)
	}
}

func (a *Adapter) malformed(kind string) {
	inbound.Count(a.o.Observe.Malformed)
	a.log.Warn("event not understood", "type", kind)
}

func (a *Adapter) take(ctx context.Context, kind string, data json.RawMessage) error {
	switch kind {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, err := readMessage(data)
		if err != nil {
			return err
		}
		put := a.message
		if kind == "MESSAGE_UPDATE" {
			put = a.edited
		}
		a.inLane(ctx, m.ChannelID, func(ctx context.Context) error { return put(ctx, m) })
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		d, err := readDeletion(data)
		if err != nil {
			return err
		}
		a.inLane(ctx, d.ChannelID, func(ctx context.Context) error { return a.deleted(ctx, d) })
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI":
		return a.takeReaction(ctx, kind, data)
	case "INTERACTION_CREATE":
		in, err := readInteraction(data)
		if err != nil {
			return err
		}
		if files := in.files(); in.Type == commandInteraction && len(files) > 0 { // another process may be faster to show it
			a.asides.brings(in.ID, message{Attachments: files})
		}
		a.clicks.run(ctx, func(ctx context.Context) { a.interact(ctx, in) })
	}
	return nil
}

// takeReaction puts a reaction in the lane of its message: it need not wait
// for the files of others.
func (a *Adapter) takeReaction(ctx context.Context, kind string, data json.RawMessage) error {
	r, err := readReaction(data)
	if err != nil {
		return err
	}
	put := func(ctx context.Context) error { return a.cleared(ctx, r) }
	if kind == "MESSAGE_REACTION_REMOVE_ALL" || kind == "MESSAGE_REACTION_REMOVE_EMOJI" {
		a.turns.cleared(r)
	}
	if kind == "MESSAGE_REACTION_ADD" || kind == "MESSAGE_REACTION_REMOVE" {
		if r.UserID == "" || r.Emoji.name() == "" {
			return errMalformed
		}
		removed := kind == "MESSAGE_REACTION_REMOVE"
		id := a.turns.key(r, removed, a.o.Now())
		put = func(ctx context.Context) error { return a.reacted(ctx, r, removed, id) }
	}
	a.inLane(ctx, r.ChannelID+" "+r.MessageID, put)
	return nil
}

const (
	firstRetry   = 50 * time.Millisecond
	longestWait  = 5 * time.Second
	patience     = 10 * time.Minute // after that an event is left to the look for what was missed
	mostAtOnce   = 512              // events that are being put
	mostClicks   = 256
	clickTimeout = 30 * time.Second
)

// inLane has an event put, after those before it in the lane. What fails is
// tried again for a while, since Discord will not deliver it again.
func (a *Adapter) inLane(ctx context.Context, lane string, put func(context.Context) error) {
	done := held(ctx)
	a.lanes.Run(ctx, lane, 0, func(ctx context.Context) {
		if a.persist(ctx, put) {
			done()
		}
	})
}

// persist says whether the event is put, or need not be.
func (a *Adapter) persist(ctx context.Context, put func(context.Context) error) bool {
	began := a.o.Now()
	for pause := firstRetry; ; pause = min(2*pause, longestWait) {
		err := a.putOnce(ctx, put)
		switch {
		case err == nil, errors.Is(err, errNotOurs):
			return true
		case ctx.Err() != nil:
			return false
		case refused(err) && !blank(err) && !passes(err):
			a.log.Warn("event dropped: discord does not say where it belongs", "error", err)
			return true
		case a.o.Now().Sub(began) > patience:
			a.log.Error("event given up", "error", err)
			a.missed()
			return true
		}
		a.log.Warn("event not put, trying again", "error", err)
		ctx = belated(ctx)
		if retry.Sleep(ctx, pause) != nil {
			return false
		}
	}
}

func (a *Adapter) putOnce(ctx context.Context, put func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.o.PutTimeout+intake.Wait)
	defer cancel()
	return put(ctx)
}

// clicks answers interactions, apart from all other events: they have 3 s.
type clicks struct {
	slots chan struct{}
	all   *sync.WaitGroup
}

func newClicks() clicks {
	return clicks{slots: make(chan struct{}, mostClicks), all: &sync.WaitGroup{}}
}

// run answers one, unless so many are being answered that it would come too
// late anyway.
func (c *clicks) run(ctx context.Context, do func(context.Context)) {
	select {
	case c.slots <- struct{}{}:
	default:
		return
	}
	c.all.Go(func() {
		defer func() { <-c.slots }()
		ctx, cancel := context.WithTimeout(ctx, clickTimeout)
		defer cancel()
		do(ctx)
	})
}
