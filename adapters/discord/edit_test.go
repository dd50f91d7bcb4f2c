package discord

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// editing is an office with a card in it.
func editing(t *testing.T, p *chat.Approval, change func(*Options)) (*office, *ledger.Ledger, chat.ThreadID, chat.MessageRef) {
	t.Helper()
	o := open(t, fakediscord.Options{}, change)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	o.in.Do(func() { o.in.Cards["c-7"] = *p })
	return o, o.in, th, o.post(th, chat.Post{Key: "ask/c-7", Approval: p}, false)
}

// changes lists what people made of calls.
func (o *office) changes() (out []chat.Change) {
	o.in.Do(func() {
		for _, c := range o.in.Changes {
			out = append(out, c.Change)
		}
	})
	return out
}

func editCard(args string) *chat.Approval {
	p := asking(args)
	p.Number, p.Parameters = 3, deployParameters
	return p
}

// answered waits for the answer to an interaction.
func (o *office) answered(id string) fakediscord.Interaction {
	o.wait(func(s *fakediscord.Server) bool { return !clickOf(s, id).Acked.IsZero() })
	return clickOf(o.fake, id)
}

// editButtons gives the ids of Edit and of the button that grants, if they are there.
func (o *office) editButtons(ref chat.MessageRef) (edit, grant string) {
	for _, id := range o.fake.Message(ref.ID).Buttons() {
		switch {
		case strings.HasPrefix(id, editButton+"|"):
			edit = id
		case strings.HasPrefix(id, grantButton+"|"):
			grant = id
		}
	}
	return edit, grant
}

func (o *office) opens(who string, ref chat.MessageRef) fakediscord.Interaction {
	edit, _ := o.editButtons(ref)
	return o.answered(o.fake.Click(who, ref.ID, edit))
}

// Edit opens a form that shows the arguments; what is filled in is
// put with how the digest of what was shown begins. What is wrong is said alone, with
// what was filled in.
func TestEditForm(t *testing.T) {
	p := editCard(`{"copies":2,"env":"prod","note":"a\nb"}`)
	o, in, _, ref := editing(t, p, nil)
	opened := o.opens(o.bob, ref)
	if m := opened.Modal; m.Title != "Approval 3: deploy" || len(m.Fields) != 5 || m.Fields[0].Value != `"prod"` || m.Fields[4].Style != 2 || m.Fields[4].Value != "a\nb" {
		t.Fatalf("the form is %+v", m)
	}
	told := func(values map[string]string, what ...string) {
		t.Helper()
		sent := o.answered(o.fake.FillIn(opened.ID, values))
		if len(sent.Replies) != 1 || sent.Replies[0].Reader != o.bob {
			t.Fatalf("answered %+v", sent)
		}
		for _, w := range what {
			if !strings.Contains(sent.Replies[0].Content, w) {
				t.Errorf("told %q, without %q", sent.Replies[0].Content, w)
			}
		}
	}
	told(map[string]string{"ncopies": "two"}, "I did not change it: copies: this is no number.", "copies: two", "note: a")
	in.Do(func() { in.Refuse = "the time to decide is over" })
	told(nil, "I did not change it: the time to decide is over.")
	in.Do(func() { in.Refuse = "" })
	if got := o.changes(); len(got) != 0 {
		t.Errorf("put %+v", got)
	}
	sent := o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "staging", "bforce": "yes", "ncopies": "", "swhy": "it *hangs*"}))
	if len(sent.Replies) != 0 || sent.Answer != promiseToChange {
		t.Errorf("answered %+v", sent)
	}
	want := chat.Change{
		Call: "c-7", By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Digest: p.Digest[:12],
		Args: `{"env":"staging","force":true,"why":"it *hangs*","note":"a\nb"}`,
	}
	if got := o.changes(); len(got) != 1 || got[0] != want {
		t.Errorf("put %+v", got)
	}
}

// The form shows the card as it is now; where the store does not answer, or the approval
// is over, whoever clicked is told so, alone.
func TestEditElsewhere(t *testing.T) {
	p := editCard(`{"env":"prod"}`)
	o, in, _, ref := editing(t, p, nil)
	told := func(what string) {
		t.Helper()
		if i := o.opens(o.bob, ref); len(i.Replies) != 1 || i.Replies[0].Reader != o.bob || !strings.Contains(i.Replies[0].Content, what) {
			t.Errorf("answered %+v, want %q", i, what)
		}
	}
	in.Do(func() { in.Fail = errors.New("the store is away") })
	told(front.Away)
	newer := editCard(`{"env":"staging"}`)
	in.Do(func() { in.Fail, in.Cards["c-7"] = nil, *newer })
	opened := o.opens(o.bob, ref)
	o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "dev"}))
	if got := o.changes(); len(got) != 1 || opened.Modal.Fields[0].Value != `"staging"` || got[0].Digest != newer.Digest[:12] {
		t.Errorf("put %+v of %+v", got, opened.Modal)
	}
	over := *newer
	over.Outcome = chat.Expired
	in.Do(func() { in.Cards["c-7"] = over })
	told("This approval is over.")
}

// Arguments without fields become one area of JSON, and so does a form that Discord
// refuses. Without room for a form there is no button.
func TestEditJSON(t *testing.T) {
	p := editCard(`{"env":"prod","more":[1]}`)
	var refuse atomic.Bool
	o, _, th, ref := editing(t, p, via(func(r *http.Request) (int, string, bool) {
		no := strings.HasSuffix(r.URL.Path, "/callback") && refuse.CompareAndSwap(true, false)
		return http.StatusBadRequest, `{"code":50035,"message":"Invalid Form Body"}`, no
	}))
	if m := o.opens(o.bob, ref).Modal; len(m.Fields) != 1 || m.Fields[0].ID != "j" || m.Fields[0].Style != 2 {
		t.Errorf("the form is %+v", m)
	}
	p.Args = `{"env":"prod"}`
	p.Digest = chat.Sum(p.Args)
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "ask/c-7", Approval: p}); err != nil {
		t.Fatal(err)
	}
	refuse.Store(true)
	opened := o.opens(o.bob, ref)
	o.answered(o.fake.FillIn(opened.ID, map[string]string{"j": "{\"env\":\n\"dev\"}"}))
	if got := o.changes(); len(opened.Modal.Fields) != 1 || len(got) != 1 || got[0].Args != "{\"env\":\n\"dev\"}" {
		t.Errorf("put %+v of %+v", got, opened.Modal)
	}
	p.Elsewhere = true
	if len(cardOf(p).Buttons) != 2 {
		t.Error("a button on a card that stands in another place")
	}
	p.Elsewhere = false
	p.Args = `{"env":"` + strings.Repeat("x", 4001) + `"}`
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "ask/c-7", Approval: p}); err != nil {
		t.Fatal(err)
	}
	if edit, _ := o.editButtons(ref); edit != "" || !strings.Contains(o.fake.Message(ref.ID).Text(), "That is only the beginning.") {
		t.Errorf("the card reads %s", o.fake.Message(ref.ID).Text())
	}
	o.answered(o.fake.FillIn(opened.ID, map[string]string{"j": `{"why":"` + strings.Repeat("x", 3000) + `"}`}))
	if got := o.changes(); len(got) != 1 {
		t.Error("put what the card can't show")
	}
}

// The button that also approves for a while says for how long, and is an approval.
func TestGrantButton(t *testing.T) {
	p := editCard(`{"env":"prod"}`)
	p.Grant = 90 * 60e9
	o, in, _, ref := editing(t, p, nil)
	_, grant := o.editButtons(ref)
	if text := o.fake.Message(ref.ID).Text(); !strings.Contains(text, "Approve, and for 1 h 30 min") {
		t.Errorf("the card reads %s", text)
	}
	o.answered(o.fake.Click(o.bob, ref.ID, grant))
	in.Await(t, func() bool { return len(in.Reactions) == 1 })
	if r := in.Reactions[0]; r.Grant == nil || *r.Grant != (chat.Grant{}) || r.Emoji != "✅" || !r.Button {
		t.Errorf("put %+v", r)
	}
}

// A card that needs a code opens a form that shows the call, also from a card elsewhere. A
// wrong code is said alone, and quoted to nobody.
func TestCodeForm(t *testing.T) {
	for _, home := range []string{"", "555555555555555555"} {
		p := editCard(`{"env":"prod"}`)
		p.Ways = []chat.Way{chat.ByCode}
		if p.Elsewhere = home != ""; p.Elsewhere {
			p.Home = thread(home, home)
		}
		o, in, _, ref := editing(t, p, nil)
		in.Do(func() { in.Cards["c-7"] = *p })
		var press string
		for _, id := range o.fake.Message(ref.ID).Buttons() {
			if strings.HasPrefix(id, codeButton+"|") {
				press = id
			}
		}
		opened := o.answered(o.fake.Click(o.bob, ref.ID, press))
		if m := opened.Modal; len(m.Texts) != 1 || !strings.Contains(m.Texts[0], "deploy\n{\"env\":\"prod\"}\n"+p.Digest[:12]) || len(m.Fields) != 1 {
			t.Fatalf("the form is %+v", m)
		}
		sent := o.answered(o.fake.FillIn(opened.ID, map[string]string{"code": "654321"}))
		if len(sent.Replies) != 1 || sent.Replies[0].Reader != o.bob || sent.Replies[0].Content != "This code is wrong." {
			t.Errorf("answered %+v", sent)
		}
		o.answered(o.fake.FillIn(opened.ID, map[string]string{"code": "123456"}))
		want := chat.Code{Call: "c-7", By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Digest: p.Digest[:12], Digits: "123456"}
		in.Do(func() {
			if len(in.Codes) != 1 || in.Codes[0] != want {
				t.Errorf("put %+v", in.Codes)
			}
		})
	}
}
