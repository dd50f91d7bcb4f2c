package operator

import (
	"cmp"
	"context"
	"strings"
	"time"

	"nod/chat"
)

// Guide knows the names and the addresses of a platform; its adapter is one. It is
// called concurrently. A name that it does not know yet is looked up for as long as ctx
// lasts, and is empty then.
type Guide interface {
	// Named is how a person, group or role is called, by a rule such as user:U012.
	Named(ctx context.Context, rule string) string
	// PlaceName is how the channel of a thread is called.
	PlaceName(ctx context.Context, thread chat.ThreadID) string
	// Link is the address of a message; empty where it has none.
	Link(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef) string
}

// nameWait is how long a view waits for all names together. A name that comes later
// is there the next time.
const nameWait = time.Second

// known are the names of a view: an id where no name is known.
type known struct {
	person func(platform string, id chat.UserID) string
	rule   func(platform, rule string) string
	place  func(chat.ThreadID) string
	link   func(chat.ThreadID, chat.MessageRef) *link
}

// link leads to a message where it stands.
type link struct{ URL, Name string }

// platformNames are how platforms write themselves.
var platformNames = map[string]string{"slack": "Slack", "discord": "Discord"}

// names gives the names that one view shows.
func (p *Page) names(ctx context.Context) known {
	until := time.Now().Add(nameWait)
	ask := func(platform string, f func(context.Context, Guide) string) string {
		g := p.o.Guides[platform]
		if g == nil {
			return ""
		}
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		return f(ctx, g)
	}
	person := func(platform string, id chat.UserID) string {
		name, ok := p.met.Get(string(id))
		if !ok {
			name = ask(platform, func(ctx context.Context, g Guide) string { return g.Named(ctx, "user:"+string(id)) })
			p.meet(chat.User{ID: id, Name: name})
		}
		return p.word(cmp.Or(name, string(id)))
	}
	return known{
		person: person,
		rule: func(platform, rule string) string {
			if id, ok := strings.CutPrefix(rule, "user:"); ok {
				return person(platform, chat.UserID(id))
			}
			return p.word(cmp.Or(ask(platform, func(ctx context.Context, g Guide) string { return g.Named(ctx, rule) }), rule))
		},
		place: func(t chat.ThreadID) string {
			return p.word(cmp.Or(ask(t.Platform, func(ctx context.Context, g Guide) string { return g.PlaceName(ctx, t) }), t.String()))
		},
		link: func(t chat.ThreadID, ref chat.MessageRef) *link {
			if ref.IsZero() {
				return nil
			}
			url := ask(t.Platform, func(ctx context.Context, g Guide) string { return g.Link(ctx, t, ref) })
			if url == "" {
				return nil
			}
			return &link{url, "Open in " + cmp.Or(platformNames[t.Platform], t.Platform)}
		},
	}
}

// meet remembers how somebody is called.
func (p *Page) meet(u chat.User) {
	if u.Name != "" {
		p.met.Put(string(u.ID), u.Name)
	}
}

// mostQuestion is how many characters of a question a list shows.
const mostQuestion = 80

// question is the beginning of a message, where texts are shown.
func (p *Page) question(text string) string {
	if !p.o.Texts {
		return ""
	}
	all := []rune(strings.Join(strings.Fields(p.text(text)), " "))
	if len(all) > mostQuestion {
		return string(all[:mostQuestion]) + "…"
	}
	return string(all)
}
