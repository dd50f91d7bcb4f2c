package slack

import (
	"strings"
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	forms "nod/chat/form"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// rerunning gives an office with the steps of a turn in it, of which one call can be run
// again, and a way to have bob open the form for that.
func rerunning(t *testing.T, prepare func(*Options)) (o *office, in *ledger.Ledger, th chat.ThreadID, open func() fakeslack.View) {
	t.Helper()
	o, th, ref := called(t, fakeslack.Options{}, prepare)
	s := chat.Steps{Turn: "7", Done: true, Status: "Done", Items: []chat.Step{{Calls: []chat.ToolCall{
		{ID: "7-1-1", Tool: "search", Args: "{}", State: chat.CallDone},
		{ID: "7-1-2", Tool: "deploy", Args: `{"env":"prod"}`, State: chat.CallDone, Observation: "ok", Again: true},
	}}}}
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "steps/7", ReplyTo: ref, Steps: &s}, false)
	if err != nil {
		t.Fatal(err)
	}
	again := chat.Again{Call: "7-1-2", Tool: "deploy", Args: `{"copies":2,"env":"prod"}`, Parameters: deployParameters, Number: 2}
	o.in.Do(func() { o.in.Turns["7"], o.in.Calls[again.Call] = s, again })
	return o, o.in, th, func() fakeslack.View {
		had := len(o.fake.Views("U0BOB"))
		o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.ShowAll})
		o.wait(func(f *fakeslack.Server) bool { return len(f.Views("U0BOB")) == had+1 })
		v := o.fake.Views("U0BOB")[had]
		if n := strings.Count(string(v.Raw), forms.AgainLabel); n != 1 {
			t.Fatalf("%d buttons, want one: %s", n, v.Raw)
		}
		o.fake.Click("U0BOB", fakeslack.Action{View: v.ID, ActionID: layout.AgainID})
		o.wait(func(*fakeslack.Server) bool { return o.view("U0BOB", v.ID).Hash != v.Hash })
		return o.view("U0BOB", v.ID)
	}
}

// In the window with the steps a call has a button that puts a form in its place:
// sending that runs the call again, and closes the window. What is wrong is said in
// the form. A call that can't be gone on with has no button.
func TestEditAndRunAgain(t *testing.T) {
	t.Parallel()
	o, in, th, open := rerunning(t, nil)
	v := open()
	in.Do(func() { in.Refuse = "the arguments don't fit the tool's parameters: /copies: must be 1 or more" })
	o.fake.Fill("U0BOB", v.ID, map[string]string{"ncopies": "0"})
	o.wait(func(*fakeslack.Server) bool {
		return strings.HasPrefix(o.view("U0BOB", v.ID).Errors["ncopies"], "The arguments don't fit")
	})
	in.Do(func() { in.Refuse = "" })
	o.fake.Fill("U0BOB", v.ID, map[string]string{"menv": "staging"})
	o.wait(func(s *fakeslack.Server) bool { return o.view("U0BOB", v.ID).Closed && s.Unacked() == 0 })
	want := chat.Change{Call: "7-1-2", By: chat.User{ID: "U0BOB", Name: "bob"}, Args: `{"env":"staging","copies":2}`}
	in.Do(func() {
		if got := in.Reruns; len(got) != 1 || got[0] != (ledger.Change{Thread: th, Change: want}) {
			t.Errorf("put %+v", got)
		}
	})
	in.Do(func() { in.Refuse = "there is something newer in this thread; ask again there" })
	if v := open(); !strings.Contains(string(v.Raw), "It can't be run again: there is something newer in this thread; ask again there.") {
		t.Errorf("the window shows %s", v.Raw)
	}
}

// An unheard person can't run anything.
func TestRunAgainUnheard(t *testing.T) {
	t.Parallel()
	o, in, _, open := rerunning(t, func(o *Options) { o.Allow = []string{"user:U0ADA"} })
	v := open()
	o.fake.Fill("U0BOB", v.ID, nil)
	o.wait(func(*fakeslack.Server) bool {
		return o.view("U0BOB", v.ID).Errors["menv"] == "Only those whom I listen to here can run something."
	})
	in.Do(func() {
		if len(in.Reruns) != 0 {
			t.Errorf("put %+v", in.Reruns)
		}
	})
}
