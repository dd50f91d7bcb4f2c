package discord

import (
	"context"
	"strings"
	"testing"

	"nod/chat"
	forms "nod/chat/form"
	"nod/internal/fakediscord"
)

// rerunnable is an inbox that lets calls be run again.
type rerunnable struct {
	reasoned
	why string // why it does not
	got []chat.Change
	at  []chat.ThreadID
}

func (r *rerunnable) Again(_ context.Context, _ chat.ThreadID, call string) (v chat.Again, why string, err error) {
	r.Do(func() { why = r.why })
	return chat.Again{Call: call, Tool: "deploy", Args: `{"copies":2,"env":"prod"}`, Parameters: deployParameters, Number: 2}, why, nil
}

func (r *rerunnable) RunAgain(_ context.Context, thread chat.ThreadID, c chat.Change, _ ...string) (why string, err error) {
	r.Do(func() {
		if why = r.why; why == "" {
			r.got, r.at = append(r.got, c), append(r.at, thread)
		}
	})
	return why, nil
}

// rerunning is an office with the steps of a turn, of which one call can be run again,
// and a way to have bob open them and click on that.
func rerunning(t *testing.T, more ...func(*Options)) (o *office, in *rerunnable, th chat.ThreadID, click func() fakediscord.Interaction) {
	t.Helper()
	o = build(t, fakediscord.Options{})
	in = &rerunnable{}
	in.Ledger = o.in
	o.run(func(opt *Options) {
		opt.Inbox = in
		for _, change := range more {
			change(opt)
		}
	})
	th = thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	s := chat.Steps{Turn: "7", Done: true, Status: "Done", Items: []chat.Step{{Calls: []chat.ToolCall{
		{ID: "7-1-1", Tool: "search", Args: "{}", State: chat.CallDone},
		{ID: "7-1-2", Tool: "deploy", Args: `{"env":"prod"}`, State: chat.CallDone, Observation: "ok", Again: true},
	}}}}
	ref := o.post(th, chat.Post{Key: "steps/7", Steps: &s}, false)
	in.Do(func() { in.Turns["7"] = s })
	return o, in, th, func() fakediscord.Interaction {
		shown := o.answered(o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])).Replies
		if len(shown) != 1 || shown[0].Reader != o.bob || len(shown[0].Buttons()) != 1 || !strings.Contains(string(shown[0].Components), `"`+forms.AgainLabel+`"`) {
			t.Fatalf("opened: %+v", shown)
		}
		return o.answered(o.fake.Click(o.bob, shown[0].ID, shown[0].Buttons()[0]))
	}
}

// Below the opened steps a call has a button that opens a form: sending that runs the
// call again. What is wrong is said alone, with what was filled in. A call that can't
// be gone on with has no button.
func TestEditAndRunAgain(t *testing.T) {
	o, in, th, click := rerunning(t)
	opened := click()
	if m := opened.Modal; m.Title != "Run deploy again" || len(m.Fields) != 5 || m.Fields[0].Value != `"prod"` {
		t.Fatalf("the form is %+v", m)
	}
	in.Do(func() { in.why = "there is something newer in this thread; ask again there" })
	sent := o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "staging"}))
	if len(sent.Replies) != 1 || sent.Replies[0].Reader != o.bob || !strings.Contains(sent.Replies[0].Content, "I did not run it: there is something newer") {
		t.Fatalf("answered %+v", sent)
	}
	if late := click(); len(late.Replies) != 1 || !strings.Contains(late.Replies[0].Content, "It can't be run again: there is something newer") {
		t.Errorf("answered %+v", late)
	}
	in.Do(func() { in.why = "" })
	sent = o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "staging"}))
	if len(sent.Replies) != 0 || sent.Answer != promiseToChange {
		t.Errorf("answered %+v", sent)
	}
	want := chat.Change{Call: "7-1-2", By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Args: `{"env":"staging","copies":2}`}
	in.Do(func() {
		if len(in.got) != 1 || in.got[0] != want || in.at[0] != th {
			t.Errorf("put %+v in %v", in.got, in.at)
		}
	})
}

// Whom nod does not listen to can't run anything.
func TestRunAgainUnheard(t *testing.T) {
	o, in, _, click := rerunning(t, func(o *Options) { o.Allow = []string{"user:1"} })
	sent := o.answered(o.fake.FillIn(click().ID, nil))
	if len(sent.Replies) != 1 || !strings.Contains(sent.Replies[0].Content, "only those whom I listen to") {
		t.Errorf("answered %+v", sent)
	}
	in.Do(func() {
		if len(in.got) != 0 {
			t.Errorf("put %+v", in.got)
		}
	})
}
