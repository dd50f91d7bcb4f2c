package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/outbox"
)

// names remembers what ids are called, for a while and for so many: a name
// that changed is noticed within the hour.
type names struct {
	now  func() time.Time
	had  bounded.Map[string, named]
	join singleflight.Group // one look-up among those who ask at the same time
}

type named struct {
	name  string
	bot   bool
	zone  string
	kind  kind // of an account
	until time.Time
}

const (
	nameStays  = time.Hour
	namelessIn = 5 * time.Minute // an id that has no name is asked for again after
	mostLearnt = 8               // at once
)

func (n *names) recall(id string) (named, bool) {
	v, ok := n.had.Get(id)
	return v, ok && n.now().Before(v.until)
}

// look gives what an id is called; ask is called when that is not known. Those
// who look for the same id at the same time ask once.
func (n *names) look(ctx context.Context, id string, ask func(context.Context) (named, error)) (named, error) {
	if v, ok := n.recall(id); ok {
		return v, nil
	}
	got := n.join.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.CallTimeout)
		defer cancel()
		v, err := ask(ctx)
		v.until = n.now().Add(nameStays)
		if slices.Contains([]string{"user_not_found", "user_not_visible", "channel_not_found"}, api.Code(err)) {
			v.until, err = n.now().Add(namelessIn), nil
		}
		if err == nil {
			n.had.Put(id, v)
		}
		return v, err
	})
	select {
	case r := <-got:
		v, _ := r.Val.(named)
		return v, r.Err
	case <-ctx.Done():
		return named{}, ctx.Err()
	}
}

// user looks up what somebody is called. The error says that it is not known
// whether it is a person, or a bot.
func (a *Adapter) user(ctx context.Context, id string) (chat.User, error) {
	u, _, err := a.person(ctx, id)
	return u, err
}

// person looks up who somebody is, and where they belong.
func (a *Adapter) person(ctx context.Context, id string) (chat.User, kind, error) {
	if id == "" {
		return chat.User{}, unknownAccount, errors.New("look a user up: no id")
	}
	v, err := a.names.look(ctx, id, func(ctx context.Context) (named, error) {
		var said struct {
			User account `json:"user"`
		}
		err := a.web.Call(ctx, api.Request{Method: "users.info", Args: url.Values{"user": {id}}, Priority: outbox.Answer, Answer: &said})
		if err != nil {
			return named{}, err
		}
		u := said.User
		return named{name: chat.Flat(chat.FirstOf(u.Profile.Display, u.Real, u.Name)), bot: u.Bot, zone: u.Zone, kind: kindOf(a.who(), u)}, nil
	})
	return chat.User{ID: chat.UserID(id), Name: v.name, Bot: v.bot}, v.kind, err
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
		if _, known := a.names.recall(id); !known {
			g.Go(func() error { _, _ = a.user(ctx, id); return nil }) // a name that can't be had is left out
		}
	}
	_ = g.Wait()
}

func (a *Adapter) channel(ctx context.Context, id string) string {
	v, err := a.names.look(ctx, id, func(ctx context.Context) (named, error) {
		c, err := a.web.Channel(ctx, id, outbox.Low)
		return named{name: c.Name}, err
	})
	if err != nil {
		return ""
	}
	return v.name
}

// Named is how an account is called, by a rule such as user:U012. A name that is not
// known is looked up while ctx lasts.
func (a *Adapter) Named(ctx context.Context, rule string) string {
	id, ok := strings.CutPrefix(rule, "user:")
	v, known := a.names.recall(id)
	if !ok || known || ctx.Err() != nil {
		return v.name
	}
	u, err := a.user(ctx, id)
	if err != nil {
		return ""
	}
	return u.Name
}

// PlaceName is how a thread's channel is called, likewise.
func (a *Adapter) PlaceName(ctx context.Context, thread chat.ThreadID) string {
	id := api.ChannelOf(thread.Channel)
	if strings.HasPrefix(id, "D") {
		return "a direct conversation"
	}
	v, known := a.names.recall(id)
	if !known && ctx.Err() == nil {
		v.name = a.channel(ctx, id)
	}
	if v.name == "" {
		return ""
	}
	return "#" + v.name
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
				u, err := a.user(ctx, id)
				if err != nil {
					return ""
				}
				return u.Name
			})
		},
		channel: func(id string) string {
			return soon(func(ctx context.Context) string { return a.channel(ctx, id) })
		},
	}
}
