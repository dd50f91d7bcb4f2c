package slack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/front"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// editing gives an office with a card in it.
func editing(t *testing.T, p *chat.Approval) (*office, *ledger.Ledger, chat.ThreadID, chat.MessageRef) {
	t.Helper()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	o.in.Do(func() { o.in.Cards["c1"] = *p })
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: p}, false)
	if err != nil {
		t.Fatal(err)
	}
	return o, o.in, th, at
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
	p := approval()
	p.Number, p.Parameters, p.Args = 3, deployParameters, args
	return p
}

// opens clicks Edit and gives the form.
func (o *office) opens(t *testing.T, user string, at chat.MessageRef) fakeslack.View {
	t.Helper()
	had := len(o.fake.Views(user))
	o.fake.Click(user, fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.EditID})
	o.wait(func(s *fakeslack.Server) bool { return len(s.Views(user)) == had+1 })
	return o.fake.Views(user)[had]
}

func (o *office) view(user, id string) fakeslack.View {
	for _, v := range o.fake.Views(user) {
		if v.ID == id {
			return v
		}
	}
	return fakeslack.View{}
}

// Edit opens a form that shows the arguments; what is filled in
// is put with the digest of what was shown. What is wrong with it is said in the form,
// which stays open.
func TestEditForm(t *testing.T) {
	o, in, _, at := editing(t, editCard(`{"copies":2,"env":"prod","note":"a\nb"}`))
	v := o.opens(t, "U0BOB", at)
	o.fake.Fill("U0BOB", v.ID, map[string]string{"ncopies": "two"})
	o.wait(func(*fakeslack.Server) bool { return o.view("U0BOB", v.ID).Errors["ncopies"] == "This is no number." })
	in.Do(func() { in.Refuse = "the arguments don't fit the tool's parameters: /copies: must be 1 or more" })
	o.fake.Fill("U0BOB", v.ID, map[string]string{"ncopies": "0"})
	o.wait(func(*fakeslack.Server) bool {
		return strings.HasPrefix(o.view("U0BOB", v.ID).Errors["ncopies"], "The arguments don't fit")
	})
	in.Do(func() { in.Refuse = "the time to decide is over" })
	o.fake.Fill("U0BOB", v.ID, nil)
	o.wait(func(*fakeslack.Server) bool {
		return o.view("U0BOB", v.ID).Errors["menv"] == "The time to decide is over."
	})
	if len(o.changes()) != 0 || o.view("U0BOB", v.ID).Closed {
		t.Errorf("%v was put", o.changes())
	}
	in.Do(func() { in.Refuse = "" })
	o.fake.Fill("U0BOB", v.ID, map[string]string{"menv": "staging", "bforce": "yes", "ncopies": "", "swhy": "it *hangs*"})
	o.wait(func(s *fakeslack.Server) bool { return o.view("U0BOB", v.ID).Closed && s.Unacked() == 0 })
	want := chat.Change{
		Call: "c1", By: chat.User{ID: "U0BOB", Name: "bob"}, Digest: "0a1b",
		Args: `{"env":"staging","force":true,"why":"it *hangs*","note":"a\nb"}`,
	}
	if got := o.changes(); len(got) != 1 || got[0] != want {
		t.Errorf("put %+v", got)
	}
}

// The form shows the card as it is now; where the store does not answer, or the approval
// is over, whoever clicked is told so, alone.
func TestEditElsewhere(t *testing.T) {
	o, in, th, at := editing(t, editCard(`{"env":"prod"}`))
	told := func(what string) {
		t.Helper()
		had := len(o.fake.Ephemerals("U0BOB"))
		o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.EditID})
		o.wait(func(s *fakeslack.Server) bool { return len(s.Ephemerals("U0BOB")) == had+1 })
		if e := o.fake.Ephemerals("U0BOB")[had]; e.User != "U0BOB" || !strings.Contains(e.Text, what) || e.Thread != th.Root {
			t.Errorf("told %+v, want %q", e, what)
		}
	}
	in.Do(func() { in.Fail = errors.New("the store is away") })
	told(front.Away)
	newer := editCard(`{"env":"staging"}`)
	newer.Digest = "ffff"
	in.Do(func() { in.Fail, in.Cards["c1"] = nil, *newer })
	v := o.opens(t, "U0BOB", at)
	if !strings.Contains(string(v.Raw), `"initial_option":{"text":{"type":"plain_text","text":"staging"`) {
		t.Errorf("the form shows %s", v.Raw)
	}
	o.fake.Fill("U0BOB", v.ID, nil)
	o.wait(func(*fakeslack.Server) bool { return len(o.changes()) == 1 })
	if got := o.changes()[0]; got.Digest != "ffff" {
		t.Errorf("put %+v", got)
	}
	over := *newer
	over.Outcome = chat.Expired
	in.Do(func() { in.Cards["c1"] = over })
	told("This approval is over.")
	in.Do(func() { in.Cards["c1"] = *newer })
	o.fake.Fail(fakeslack.Fault{Method: "views.open", Error: "expired_trigger_id", Times: 1})
	told("`edit 3 {…}` does the same")
}

// Two people who open the form of the same card both send what they were shown, and
// what one of them sends twice is put under the same id.
func TestEditTwice(t *testing.T) {
	o, _, _, at := editing(t, editCard(`{"env":"prod"}`))
	for i, user := range []string{"U0BOB", "U0CLEO"} {
		v := o.opens(t, user, at)
		for n := range 2 {
			o.fake.Submit(user, v.ID, map[string]map[string]any{"menv": {"menv": map[string]any{
				"type": "static_select", "selected_option": map[string]any{"value": `"staging"`},
			}}})
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			if got := len(o.changes()); got != i+1 {
				t.Fatalf("sent %d times by %s: %d changes", n+1, user, got)
			}
		}
	}
	if got := o.changes(); len(got) != 2 || got[0].By == got[1].By {
		t.Errorf("put %+v", got)
	}
}

// Arguments that a form can't show in fields are an area of JSON, and those that no
// form has room for have no button.
func TestEditJSON(t *testing.T) {
	p := editCard(`{"env":"prod","more":[1]}`)
	o, _, th, at := editing(t, p)
	v := o.opens(t, "U0BOB", at)
	o.fake.Fill("U0BOB", v.ID, map[string]string{"j": "{"})
	o.wait(func(*fakeslack.Server) bool { return o.view("U0BOB", v.ID).Errors["j"] != "" })
	o.fake.Fill("U0BOB", v.ID, map[string]string{"j": `{"env":"prod"}`})
	o.wait(func(*fakeslack.Server) bool { return len(o.changes()) == 1 })
	if got := o.changes()[0].Args; got != `{"env":"prod"}` {
		t.Error(got)
	}
	p.Elsewhere = true
	if len(cardOf(p).Buttons) != 2 {
		t.Error("a button on a card that stands in another place")
	}
	p.Elsewhere = false
	p.Args = `{"env":"` + strings.Repeat("x", 3001) + `"}`
	if err := o.a.Edit(t.Context(), th, at, chat.Post{Key: "ask/c1", Approval: p}); err != nil {
		t.Fatal(err)
	}
	if m, _ := o.fake.Message(general, at.ID); strings.Contains(string(m.Blocks), layout.EditID) {
		t.Error("a button for what no form has room for")
	}
}

// The button that also approves for a while says for how long, and is an approval.
func TestGrantButton(t *testing.T) {
	p := editCard(`{"env":"prod"}`)
	p.Grant = 90 * 60e9
	o, _, _, at := editing(t, p)
	m, _ := o.fake.Message(general, at.ID)
	var blocks []struct {
		Elements []struct {
			Action string `json:"action_id"`
			Text   any    `json:"text"`
		} `json:"elements"`
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	labels := ""
	for _, e := range blocks[len(blocks)-1].Elements {
		text, _ := e.Text.(map[string]any)["text"].(string)
		labels += text + "; "
	}
	if labels != "Approve; Deny; Edit; Approve, and for 1 h 30 min; " {
		t.Errorf("buttons: %s", labels)
	}
	o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.GrantID})
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	if r := o.in.Reactions[0]; r.Grant == nil || *r.Grant != (chat.Grant{}) || r.Emoji != "✅" || !r.Button {
		t.Errorf("put %+v", r)
	}
}

// A card that needs a code opens a form that shows the call, also from a card elsewhere. A
// wrong code is said in the form, which stays open.
func TestCodeForm(t *testing.T) {
	for _, home := range []chat.ThreadID{{}, api.ThreadID("T1", "C0OTHER", "1.2")} {
		p := editCard(`{"env":"prod"}`)
		p.Ways, p.Home, p.Elsewhere = []chat.Way{chat.ByCode}, home, home.Root != ""
		o, in, th, at := editing(t, p)
		in.Do(func() { in.Cards["c1"] = *p })
		o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.CodeID})
		o.wait(func(s *fakeslack.Server) bool { return len(s.Views("U0BOB")) == 1 })
		v := o.fake.Views("U0BOB")[0]
		if raw := string(v.Raw); !strings.Contains(raw, `deploy\n{\"env\":\"prod\"}\n0a1b`) {
			t.Errorf("the form is %s", raw)
		}
		o.fake.Fill("U0BOB", v.ID, map[string]string{"code": "654321"})
		o.wait(func(*fakeslack.Server) bool { return o.view("U0BOB", v.ID).Errors["code"] == "This code is wrong." })
		o.fake.Fill("U0BOB", v.ID, map[string]string{"code": "123456"})
		o.wait(func(s *fakeslack.Server) bool { return o.view("U0BOB", v.ID).Closed && s.Unacked() == 0 })
		want := chat.Code{Call: "c1", By: chat.User{ID: "U0BOB", Name: "bob"}, Digest: "0a1b", Digits: "123456"}
		in.Do(func() {
			if len(in.Codes) != 1 || in.Codes[0] != want || len(in.Reactions) > 0 {
				t.Errorf("put %+v in %s", in.Codes, th)
			}
		})
	}
}
