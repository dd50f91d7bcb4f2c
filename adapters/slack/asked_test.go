package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
)

// Three people have one display name. Who asks is told apart by their account, and a guest
// or somebody of another organisation is called that.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]fakeslack.User{
		"":                   {ID: "U0ANN1", Name: "ann"},
		"guest":              {ID: "U0ANN2", Name: "ann", OneChannel: true},
		"other organisation": {ID: "U0ANN3", Name: "ann", Team: "T9"},
	} {
		t.Run(u.ID, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakeslack.Options{}, func(o *Options) { o.External, o.Guests = "ask", "allow" })
			o.fake.AddUser(u)
			o.fake.Join(u.ID, general)
			o.fake.Say(u.ID, general, fakeslack.Mention+" deploy")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			from := o.in.Messages[0].From
			if string(from.ID) != u.ID || from.Name != "ann" || from.Kind != want {
				t.Fatalf("it is %+v", from)
			}
			p := approval()
			p.Requester, p.Quiet, p.Exclude = from, true, []chat.User{{ID: "U0EVE", Name: "eve"}}
			asked := "*Asked by* <@" + u.ID + ">"
			if want != "" {
				asked += " (" + want + ")"
			}
			for i, f := range layout.ApprovalPart(p, cardOf(p), everything) {
				text := f.Text
				for _, b := range f.Blocks {
					raw, _ := json.Marshal(b)
					text += strings.Join(drawnTexts(raw), "\n")
				}
				if !strings.Contains(text, asked) {
					t.Errorf("form %d does not say %q: %s", i, asked, text)
				}
				if strings.Contains(text, "U0EVE") || !strings.Contains(text, "*Not:* eve") {
					t.Errorf("form %d names who may not by more than their name: %s", i, text)
				}
			}
		})
	}
}

// A card in another place leads to the thread, where people see what was said.
func TestCopyLeadsHome(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	for _, place := range []string{"user:U0BOB", "channel:" + general} {
		p := directly(th)
		p.Card, p.Direct = ref, strings.HasPrefix(place, "user:")
		at, on, err := o.a.Copy(t.Context(), place, chat.Post{Key: "copy/c1/" + place, Approval: p}, false)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, m := range o.fake.Messages(api.ChannelOf(at.Channel), "") {
			if m.TS == on.ID {
				text = strings.Join(drawnTexts(m.Blocks), "\n")
			}
		}
		if link := layout.Permalink(o.a.who().URL, th, ref); !strings.Contains(text, "<"+layout.Escape(link)+"|Open the thread>") {
			t.Errorf("in %s it does not lead to %s: %s", place, link, text)
		}
	}
}
