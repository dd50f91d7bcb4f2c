package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
)

// lately remembers what Slack said of ids, for a while and for so many: a name that
// changed is noticed within the hour.
type lately[V any] struct {
	now  func() time.Time
	had  bounded.Map[string, remembered[V]]
	join singleflight.Group // one look-up among those who ask at the same time
}

type remembered[V any] struct {
	said  V
	until time.Time
}

// named is what an id is called: a person's, or a channel's, of which there is only a name.
type named struct {
	chat.User
	zone  string
	heard bool
}

const (
	nameStays  = time.Hour
	namelessIn = 5 * time.Minute // an id that has no name is asked for again after
	groupStays = time.Minute
	mostLearnt = 8 // at once
)

func (l *lately[V]) recall(id string) (V, bool) {
	v, ok := l.had.Get(id)
	return v.said, ok && l.now().Before(v.until)
}

// look gives what was said of an id; where that is not known ask asks, and says how long it
// is remembered. Those who look for the same id at the same time ask once.
func (l *lately[V]) look(ctx context.Context, id string, ask func(context.Context) (V, time.Duration, error)) (v V, err error) {
	if v, ok := l.recall(id); ok {
		return v, nil
	}
	got := l.join.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.CallTimeout)
		defer cancel()
		v, stays, err := ask(ctx)
		if err == nil {
			l.had.Put(id, remembered[V]{v, l.now().Add(stays)})
		}
		return v, err
	})
	select {
	case r := <-got:
		v, _ = r.Val.(V)
		return v, r.Err
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// nameless forgives that there is nobody, or nothing, with an id.
func nameless(err error) (stays time.Duration, failed error) {
	if slices.Contains([]string{"user_not_found", "user_not_visible", "channel_not_found"}, api.Code(err)) {
		return namelessIn, nil
	}
	return nameStays, err
}

// user looks up who somebody is. The error says that it is not known whether it is a
// person, or a bot.
func (a *Adapter) user(ctx context.Context, id string) (named, error) {
	if id == "" {
		return named{}, errors.New("look a user up: no id")
	}
	v, err := a.names.look(ctx, id, func(ctx context.Context) (named, time.Duration, error) {
		var u slackgo.User
		err := a.web.Call(ctx, api.Request{Method: "users.info", Args: url.Values{"user": {id}}, Priority: outbox.Answer, Answer: &u, Field: "user"})
		stays, err := nameless(err)
		return a.judge(u), stays, err
	})
	v.ID = chat.UserID(id)
	return v, err
}

// learn looks people up side by side, for as long as that may take.
func (a *Adapter) learn(ctx context.Context, most time.Duration, ids []string) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(mostLearnt)
	seen := map[string]bool{"": true, a.who().UserID: true}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, had := a.names.recall(id); !had {
			g.Go(func() error { _, _ = a.user(ctx, id); return nil }) // a name that can't be had is left out
		}
	}
	_ = g.Wait()
}

// channel is how a channel is called; "" where that is not known.
func (a *Adapter) channel(ctx context.Context, id string) string {
	v, _ := a.names.look(ctx, id, func(ctx context.Context) (named, time.Duration, error) {
		c, err := a.web.Channel(ctx, id, outbox.Low)
		stays, err := nameless(err)
		return named{User: chat.User{Name: c.Name}}, stays, err
	})
	return v.Name
}

// Named is how an account is called, by a rule such as user:U012. A name that is not
// known is looked up while ctx lasts.
func (a *Adapter) Named(ctx context.Context, rule string) string {
	id, ok := strings.CutPrefix(rule, "user:")
	v, had := a.names.recall(id)
	if ok && !had && ctx.Err() == nil {
		v, _ = a.user(ctx, id)
	}
	return v.Name
}

// PlaceName is how a thread's channel is called, likewise.
func (a *Adapter) PlaceName(ctx context.Context, thread chat.ThreadID) string {
	id := api.ChannelOf(thread.Channel)
	if api.IsDM(id) {
		return "a direct conversation"
	}
	v, had := a.names.recall(id)
	if !had && ctx.Err() == nil {
		v.Name = a.channel(ctx, id)
	}
	if v.Name == "" {
		return ""
	}
	return "#" + v.Name
}

// words are the names as far as they can be had soon: a message doesn't wait
// for them.
func (a *Adapter) words(ctx context.Context) words {
	until := a.o.Now().Add(a.o.NameWait)
	soon := func(look func(context.Context) string) string {
		left := until.Sub(a.o.Now())
		if left <= 0 {
			return ""
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		return look(ctx)
	}
	who := a.who()
	return words{
		team: who.TeamID, self: a.isMe,
		user: func(id string) string {
			if a.isMe(id) {
				return who.User
			}
			if id[0] == 'B' { // no account
				return ""
			}
			return soon(func(ctx context.Context) string {
				u, _ := a.user(ctx, id)
				return u.Name
			})
		},
		channel: func(id string) string {
			return soon(func(ctx context.Context) string { return a.channel(ctx, id) })
		},
	}
}
