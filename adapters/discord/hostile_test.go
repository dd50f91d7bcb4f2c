package discord

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/internal/hostile"
)

// Discord pings only those whom allowed_mentions names. No text of a model, tool, name or
// page adds anybody to them, or becomes a link that is neither http nor mailto, in any form
// of any post.
func TestNothingRings(t *testing.T) {
	t.Parallel()
	th := api.ThreadID(api.Place{Channel: "1258291200029360128", Thread: "1573884280386355200"})
	rapid.Check(t, func(t *rapid.T) {
		posts := goldenPosts()
		for _, name := range slices.Sorted(maps.Keys(posts)) {
			p := posts[name]
			before := messagesOf(th, messageOf(p))[0].Pings
			hostile.Poison(t, &p)
			for i, part := range messagesOf(th, messageOf(p)) {
				forms := []layout.Part{part}
				if part.Plain != nil {
					forms = append(forms, part.WithoutCard())
				}
				for _, f := range forms {
					if g := f.Pings; len(g.Parse) > 0 || i == 0 && !(slices.Equal(g.Users, before.Users) && slices.Equal(g.Roles, before.Roles)) || i > 0 && len(g.Users)+len(g.Roles) > 0 {
						t.Errorf("%s: it pings %+v, not %+v", name, g, before)
					}
					for _, text := range append(f.Card, f.Content) {
						if hostile.LeadsAstray(text) {
							t.Errorf("%s: it leads elsewhere: %q", name, text)
						}
					}
					if c := f.Change(); len(c.Allowed.Parse)+len(c.Allowed.Users)+len(c.Allowed.Roles) > 0 {
						t.Errorf("%s: a change pings %+v", name, c.Allowed)
					}
				}
			}
		}
	})
}
