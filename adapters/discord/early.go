package discord

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"nod/chat/outbox"
)

// Discord asks for a pause of some seconds before a session is begun in the place of
// one that is over, and whether another process still has one is not known at once
// either. Reading and answering need no session, so what was missed by then is looked
// for meanwhile, as far as it can be told soon where there is any: in all channels and
// active threads of a few guilds, and in the direct conversations that were heard of
// last. The look at the beginning of the session follows as ever.

const (
	mostSurveyed = 24 // guilds, of which each takes two calls of fifty a second
	mostDirect   = 20 // direct conversations, of which nothing says whether there is anything
)

// early looks for what was missed, unless that goes on already. Whatever it can't find
// out is left to the look at the beginning of the session.
func (a *Adapter) early(ctx context.Context) {
	if !a.surveying.TryLock() {
		return
	}
	defer a.surveying.Unlock()
	marks, err := a.heard.UpTo(ctx)
	if err == nil && len(marks) > 0 {
		t, failed := a.survey(ctx, mostSurveyed, outbox.Answer)
		err = errors.Join(failed, a.readAll(ctx, likely(a.stretches(t, marks))))
	}
	if err != nil && ctx.Err() == nil {
		a.log.Info("look for what was missed before there is a session", "error", err)
	}
}

// likely are the stretches in which something is known to be new, and the first of the
// direct conversations.
func likely(all []stretch) []stretch {
	direct := 0
	return slices.DeleteFunc(all, func(s stretch) bool {
		if s.direct {
			direct++
		}
		return s.priority == outbox.Low || direct > mostDirect
	})
}

// survey asks for what the Gateway tells at the beginning of a session. It says nothing
// of guilds if there are more than so many; 0: any number.
func (a *Adapter) survey(ctx context.Context, most int, priority outbox.Priority) (*atlas, error) {
	t := newAtlas(a.self.who)
	ask := func(ctx context.Context, r request) error {
		r.method, r.priority = "GET", priority
		return missing(a.rest.call(ctx, r))
	}
	guilds, err := allGuilds(func(path string, answer any) error {
		path, query, _ := strings.Cut(path, "?")
		values, err := url.ParseQuery(query)
		return errors.Join(err, ask(ctx, request{path: path, query: values, answer: answer}))
	})
	if err != nil || most > 0 && len(guilds) > most {
		return t, err
	}
	var g errgroup.Group // one that can't be asked for is no reason to leave the others out
	g.SetLimit(2 * lookers)
	for _, in := range guilds {
		g.Go(func() error {
			var channels []channel
			err := ask(ctx, request{path: "/guilds/{}/channels", ids: []string{in.ID}, answer: &channels})
			t.putGuild(guild{ID: in.ID, Channels: channels})
			return err
		})
		g.Go(func() error {
			var active guild
			err := ask(ctx, request{path: "/guilds/{}/threads/active", ids: []string{in.ID}, answer: &active})
			t.putGuild(guild{ID: in.ID, Threads: active.Threads})
			return err
		})
	}
	return t, g.Wait()
}
