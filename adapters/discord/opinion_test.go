package discord

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// thinking is an office whose answers have all buttons, and a conversation of Ada's in a
// thread.
func thinking(t *testing.T) (*office, string, chat.ThreadID) {
	t.Helper()
	o := open(t, fakediscord.Options{}, func(opt *Options) { opt.Retries = true })
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	return o, id, thread(o.general, id)
}

// Opinions by button are put for the answer's first message, however many it has. A
// critic is asked once for the reason, and nobody else sees any of it.
func TestOpinions(t *testing.T) {
	o, id, th := thinking(t)
	for n, text := range []string{"hello", strings.Repeat("word ", 2000), strings.Repeat("word ", 4000)} {
		before := len(o.fake.Posts(id))
		p := answer(fmt.Sprint("answer/", n), text)
		p.ReplyTo = api.RefOf(api.PlaceOf(th), id) // so that a line below says how to go on
		at := o.post(th, p, false)
		posts := o.fake.Posts(id)[before:]
		last := posts[len(posts)-1]
		for i, m := range posts {
			if has := len(m.Buttons()) == 3; has != (i == len(posts)-1) {
				t.Errorf("message %d of %d has the buttons %q", i+1, len(posts), m.Buttons())
			}
		}
		click := func(who string, button int) fakediscord.Interaction {
			done := o.fake.Click(who, last.ID, last.Buttons()[button])
			o.wait(func(s *fakediscord.Server) bool { return !clickOf(s, done).Acked.IsZero() })
			return clickOf(o.fake, done)
		}
		o.in.Do(func() { o.in.Said = nil })
		click(o.ada, 0)
		asked := click(o.bob, 1)
		if again := click(o.bob, 1); asked.Form == "" || again.Form != "" {
			t.Errorf("bob was asked %q, then %q", asked.Form, again.Form)
		}
		filled := o.fake.Fill(asked.ID, "it is *old*")
		o.wait(func(s *fakediscord.Server) bool { return !clickOf(s, filled).Acked.IsZero() })
		want := fmt.Sprintf("%[1]s Ada true; %[1]s bob false; %[1]s bob false; %[1]s bob false it is *old*", at.ID)
		if got := strings.Join(o.in.Said, "; "); got != want {
			t.Errorf("%d messages: put %q, want %q", len(posts), got, want)
		}
		click(o.ada, 2)
		var got chat.Reaction
		o.in.Do(func() { got = o.in.Reactions[len(o.in.Reactions)-1] })
		if got.On != at || got.Emoji != chat.EmojiRetry || !got.Button {
			t.Errorf("another try of %v: %+v", at, got)
		}
		if again := o.post(th, p, true); again != at || len(o.fake.Posts(id)) != before+len(posts) {
			t.Errorf("the answer is not known again: %v, %d messages", again, len(o.fake.Posts(id)))
		}
		o.fake.ForgetNonces()
		if again := o.post(th, p, true); again != at || len(o.fake.Posts(id)) != before+len(posts) {
			t.Errorf("the answer is not known again later: %v, %d messages", again, len(o.fake.Posts(id)))
		}
	}
}

// clickOf is the interaction with an id.
func clickOf(s *fakediscord.Server, id string) fakediscord.Interaction {
	all := s.Interactions()
	return all[slices.IndexFunc(all, func(i fakediscord.Interaction) bool { return i.ID == id })]
}

// Nothing else has them: no notice, no card, no steps; and a button that names
// another channel does nothing.
func TestOpinionsElsewhere(t *testing.T) {
	o, id, th := thinking(t)
	notice := answer("n", "I could not answer.")
	notice.Text.Notice = true
	if b := o.fake.Message(o.post(th, notice, false).ID).Buttons(); len(b) > 0 {
		t.Errorf("a notice has %q", b)
	}
	ref := o.post(th, answer("a", "hello"), false)
	button := strings.Replace(o.fake.Message(ref.ID).Buttons()[0], id, o.guild, 1)
	button = strings.Replace(button, o.general, o.guild, 1)
	before := len(o.in.Said)
	click, err := api.ReadInteraction(fmt.Appendf(nil, `{"id":"1","token":"t","type":3,"channel_id":%q,"guild_id":%q,"member":{"user":{"id":%q}},"message":{"id":%q},"data":{"custom_id":%q}}`,
		id, o.guild, o.bob, ref.ID, button))
	if err != nil {
		t.Fatal(err)
	}
	o.a.interact(t.Context(), click)
	if len(o.in.Said) != before {
		t.Errorf("it was put: %q", o.in.Said)
	}
}

// Where no form opens, a person is asked in a message to them alone, whose button opens it.
func TestAskedInAMessage(t *testing.T) {
	o, _, th := thinking(t)
	m := o.fake.Message(o.post(th, answer("a", "hello"), false).ID)
	o.fake.Inject(fakediscord.Fault{Route: "POST /interactions/{interaction}/{token}/callback", Skip: 0, Status: http.StatusBadRequest, Code: api.CodeBadForm})
	asked := o.answered(o.fake.Click(o.bob, m.ID, m.Buttons()[1]))
	if len(asked.Replies) != 1 || asked.Replies[0].Reader != o.bob || len(asked.Replies[0].Buttons()) != 1 || asked.Form != "" {
		t.Fatalf("answered %+v", asked)
	}
	if again := o.answered(o.fake.Click(o.bob, m.ID, m.Buttons()[1])); again.Form != "" {
		t.Errorf("bob is asked again: %+v", again)
	}
	form := o.answered(o.fake.Click(o.bob, asked.Replies[0].ID, asked.Replies[0].Buttons()[0]))
	o.answered(o.fake.Fill(form.ID, "it is old"))
	o.in.Do(func() {
		if want := m.ID + " bob false it is old"; o.in.Said[len(o.in.Said)-1] != want {
			t.Errorf("put %q, want %q", o.in.Said, want)
		}
	})
}
