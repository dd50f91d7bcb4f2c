package discord

import (
	"strings"
	"testing"

	"nod/chat"
	forms "nod/chat/form"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// rerunning is an office with the steps of a turn, of which one call can be run again,
// and a way to have bob open them and click on that.
func rerunning(t *testing.T, change func(*Options)) (o *office, in *ledger.Ledger, th chat.ThreadID, click func() fakediscord.Interaction) {
	t.Helper()
	o = open(t, fakediscord.Options{}, change)
	th = thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	s := chat.Steps{Turn: "7", Done: true, Status: "Done", Items: []chat.Step{{Calls: []chat.ToolCall{
		{ID: "7-1-1", Tool: "search", Args: "{}", State: chat.CallDone},
		{ID: "7-1-2", Tool: "deploy", Args: `{"env":"prod"}`, State: chat.CallDone, Observation: "ok", Again: true},
	}}}}
	ref := o.post(th, chat.Post{Key: "steps/7", Steps: &s}, false)
	again := chat.Again{Call: "7-1-2", Tool: "deploy", Args: `{"copies":2,"env":"prod"}`, Parameters: deployParameters, Number: 2}
	o.in.Do(func() { o.in.Turns["7"], o.in.Calls[again.Call] = s, again })
	return o, o.in, th, func() fakediscord.Interaction {
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
	o, in, th, click := rerunning(t, nil)
	opened := click()
	if m := opened.Modal; m.Title != "Run deploy again" || len(m.Fields) != 5 || m.Fields[0].Value != `"prod"` {
		t.Fatalf("the form is %+v", m)
	}
	in.Do(func() { in.Refuse = "there is something newer in this thread; ask again there" })
	sent := o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "staging"}))
	if len(sent.Replies) != 1 || sent.Replies[0].Reader != o.bob || !strings.Contains(sent.Replies[0].Content, "I did not run it: there is something newer") {
		t.Fatalf("answered %+v", sent)
	}
	if late := click(); len(late.Replies) != 1 || !strings.Contains(late.Replies[0].Content, "It can't be run again: there is something newer") {
		t.Errorf("answered %+v", late)
	}
	in.Do(func() { in.Refuse = "" })
	sent = o.answered(o.fake.FillIn(opened.ID, map[string]string{"menv": "staging"}))
	if len(sent.Replies) != 0 || sent.Answer != promiseToChange {
		t.Errorf("answered %+v", sent)
	}
	want := chat.Change{Call: "7-1-2", By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Args: `{"env":"staging","copies":2}`}
	in.Do(func() {
		if got := in.Reruns; len(got) != 1 || got[0] != (ledger.Change{Thread: th, Change: want}) {
			t.Errorf("put %+v", got)
		}
	})
}

// An unheard person can't run anything.
func TestRunAgainUnheard(t *testing.T) {
	o, in, _, click := rerunning(t, func(o *Options) { o.Allow = []string{"user:1"} })
	sent := o.answered(o.fake.FillIn(click().ID, nil))
	if len(sent.Replies) != 1 || !strings.Contains(sent.Replies[0].Content, "only those whom I listen to") {
		t.Errorf("answered %+v", sent)
	}
	in.Do(func() {
		if len(in.Reruns) != 0 {
			t.Errorf("put %+v", in.Reruns)
		}
	})
}
