package front_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/chat/form"
	"nod/front"
	"nod/internal/ledger"
	"nod/internal/script"
)

var (
	ada = chat.User{ID: "ada", Name: "ada"}
	on  = chat.MessageRef{Platform: "board", Channel: "c", ID: "7"}
)

// still is a square on which nothing changes.
type still struct{ square }

func (still) Change(context.Context, chat.ThreadID, chat.MessageRef, front.Message) error { return nil }

// asked is a front whose platform opens forms later, by open.
func asked(in *ledger.Ledger, open func(context.Context, front.Form) error) *front.Front {
	return front.New(still{square{Board: &script.Board{Platform: "board"}, stands: &standing{}}}, front.Options{
		Common: front.Common{Inbox: in, Settle: time.Nanosecond}, Platform: "board", Room: script.Room, Open: open, Trigger: time.Minute,
	})
}

func clicks(t *testing.T, f *front.Front, c front.Click) front.Answer {
	t.Helper()
	a, err := f.Click(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func sends(t *testing.T, f *front.Front, s front.Sent) front.Answer {
	t.Helper()
	a, err := f.Sent(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Where only the answer to a click opens a form, it opens before the click is judged, and
// the judge's words answer what is sent. From a card elsewhere none opens, and nobody waits
// for a reason.
func TestDenialIsJudgedLater(t *testing.T) {
	in := ledger.New()
	f, _ := onSquare(in)
	deny := front.Click{Verb: front.Deny, ID: "1", Thread: thread, Call: "c1", Emoji: "x", On: on, By: ada}
	a := clicks(t, f, deny)
	if a.Form == nil || a.Form.Title != "Deny: why?" || a.Form.Most != front.MostReason || !in.Reactions[0].Button || in.Reactions[0].Emoji != "❌" {
		t.Fatalf("%+v of %+v", a.Form, in.Reactions)
	}
	in.Verdicts["ada"] = "Your reaction does not count: the call is over."
	a.Form.ID = "1 form"
	if a := sends(t, f, front.Sent{Click: a.Form.Click, Text: "too\nlate"}); a.Alone != in.Verdicts["ada"] {
		t.Errorf("told %q", a.Alone)
	}
	deny.ID, deny.Call = "2", "c2"
	if a, err := f.Unopened(t.Context(), *clicks(t, f, deny).Form); err != nil || a.Alone != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if want := []string{"1 c1 ada: too late", "1 c2 ada: "}; !slices.Equal(in.Said, want) {
		t.Errorf("put %q, want %q", in.Said, want)
	}
	deny.ID, deny.Copied = "3", true
	if a := clicks(t, f, deny); a.Form != nil || in.Reactions[2].Button {
		t.Errorf("%+v, put %+v", a, in.Reactions[2])
	}
}

// On other platforms the person is asked whose click has denied the call, once it has; also
// by a process that did not get the click. A form that did not open gives no reason.
func TestWhyDenied(t *testing.T) {
	for name, fails := range map[string]error{"opens": nil, "does not open": errors.New("expired"), "may be open": lost} {
		in := ledger.New()
		var forms []front.Form
		open := func(_ context.Context, f front.Form) error { forms = append(forms, f); return fails }
		got, draws := asked(in, open), asked(in, open)
		if a := clicks(t, got, front.Click{Verb: front.Deny, ID: "1", Thread: thread, Call: "1", Emoji: "❌", On: on, By: ada, Trigger: "t"}); a.Form != nil {
			t.Errorf("%s: the click is answered with %+v", name, a)
		}
		for _, by := range []chat.User{ada, ada, {ID: "ben"}} { // drawn twice; and denied by a reaction
			p := deploy()
			p.Outcome, p.By = chat.Denied, []chat.User{by}
			if err := draws.Edit(t.Context(), thread, on, chat.Post{Key: "ask/1", Approval: p}); err != nil {
				t.Fatal(err)
			}
			draws.Wait()
		}
		if len(forms) != 1 || forms[0].Trigger != "t" || forms[0].Call != "1" || !forms[0].Closes {
			t.Fatalf("%s: %+v", name, forms)
		}
		if none := slices.Contains(in.Said, "1 1 ada: "); none != (name == "does not open") {
			t.Errorf("%s: put %q", name, in.Said)
		}
		forms[0].ID = "closed"
		sends(t, draws, front.Sent{Click: forms[0].Click, Text: "late", Closed: true})
		if name == "opens" && !slices.Contains(in.Said, "1 1 ada: ") {
			t.Errorf("closed: put %q", in.Said)
		}
	}
}

// Each person is asked once what was wrong with an answer, in the form or in a message
// whose button opens it. A person who may not say it is told so.
func TestOpinions(t *testing.T) {
	in := ledger.New()
	f, _ := onSquare(in)
	click := func(id string, v front.Verb, by chat.User) front.Answer {
		return clicks(t, f, front.Click{Verb: v, ID: id, On: on, By: by})
	}
	if a := click("1", front.Good, ada); a.Alone != front.Noted {
		t.Errorf("%+v", a)
	}
	bad := click("2", front.Bad, ada)
	if bad.Form == nil || bad.Form.Title != "What was wrong?" {
		t.Fatalf("%+v", bad)
	}
	if a := click("3", front.Bad, ada); a.Form != nil || f.Wonder(thread, ada, on).Button != nil {
		t.Errorf("asked twice: %+v", a)
	}
	later, err := f.Unopened(t.Context(), *bad.Form)
	if err != nil || later.Button == nil || later.Button.Verb != front.Tell {
		t.Fatalf("%+v, %v", later, err)
	}
	form := clicks(t, f, *later.Button).Form
	form.ID = "4"
	sends(t, f, front.Sent{Click: form.Click, Text: " it is\nold "})
	if a := sends(t, f, front.Sent{Click: form.Click, Text: strings.Repeat("é", front.MostReason+1)}); a.Wrong == nil {
		t.Errorf("%+v", a)
	}
	if want := []string{"7 ada true", "7 ada false", "7 ada false", "7 ada false it is old"}; !slices.Equal(in.Said, want) {
		t.Errorf("put %q, want %q", in.Said, want)
	}
	eve := chat.User{ID: "eve", Barred: "guests may not decide here"}
	for _, v := range []front.Verb{front.Good, front.Bad, front.TryAgain} {
		if a := click("5", v, eve); !strings.Contains(a.Alone, "not set up to answer you") || a.Form != nil {
			t.Errorf("%s: %+v", v, a)
		}
	}
	if f.Wonder(thread, eve, on).Button != nil || len(in.Said) != 4 || len(in.Reactions) != 0 {
		t.Errorf("eve is heard: %q", in.Said)
	}
}

// A mistake in sent arguments is explained in a sentence, at its field.
func TestArguments(t *testing.T) {
	in := ledger.New()
	f, _ := onSquare(in)
	send := func(v front.Verb, heard bool, args ...form.Filled) front.Answer {
		return sends(t, f, front.Sent{Click: front.Click{Verb: v, ID: "1", Thread: thread, Call: "c1", By: ada, Heard: heard}, Fields: args})
	}
	is := func(a front.Answer, id, why, alone string) {
		t.Helper()
		if a.Wrong == nil || a.Wrong.ID != id || a.Wrong.Why != why || a.Alone != alone {
			t.Errorf("%+v, wrong %+v", a, a.Wrong)
		}
	}
	one, two := form.Filled{ID: "senv", Value: "prod"}, form.Filled{ID: "ncopies", Value: "two"}
	is(send(front.Edit, true, one, two), "ncopies", "this is no number", "I did not change it: copies: this is no number.")
	is(send(front.Rerun, false, one), "senv", "only those whom I listen to here can run something", "I did not run it: only those whom I listen to here can run something.")
	in.Refuse = "/copies: must be 1 or more"
	two.Value = "0"
	is(send(front.Edit, false, one, two), "ncopies", in.Refuse, "I did not change it: "+in.Refuse+".")
	in.Refuse = ""
	if a := send(front.Edit, false, one); a != (front.Answer{}) || len(in.Changes) != 1 || in.Changes[0].Args != `{"env":"prod"}` {
		t.Errorf("%+v, put %+v", a, in.Changes)
	}
}

// A person gets the form of a call as it stands, or reads why there is none.
func TestForms(t *testing.T) {
	in := ledger.New()
	f, _ := onSquare(in)
	long := `{"text":"` + strings.Repeat("x", script.Room.Text) + `"}`
	told := func(v front.Verb, want string) {
		t.Helper()
		if a := clicks(t, f, front.Click{Verb: v, Thread: thread, Call: "c1"}); a.Alone != want || a.Form != nil {
			t.Errorf("%s: %+v", v, a)
		}
	}
	told(front.Edit, "This approval is over.")
	in.Cards["c1"] = chat.Approval{Call: "c1", Tool: "deploy", Number: 3, Args: long}
	told(front.Edit, "These arguments are too long for a form. In a message, `edit 3 {…}` does the same.")
	in.Calls["c1"] = chat.Again{Call: "c1", Tool: "deploy", Number: 2, Args: long}
	told(front.Rerun, "These arguments are too long for a form. In a message, `run 2 {…}` does the same.")
	in.Refuse = "there is something newer in this thread"
	told(front.Rerun, "It can't be run again: there is something newer in this thread.")
	in.Cards["c1"] = chat.Approval{Call: "c1", Tool: "deploy", Number: 3, Args: `{}`, Digest: "newest"}
	a := clicks(t, f, front.Click{Verb: front.Edit, Thread: thread, Call: "c1", Digest: "old"})
	if a.Form == nil || a.Form.Digest != "newest" {
		t.Fatalf("%+v", a)
	}
	if a, err := f.Unopened(t.Context(), *a.Form); err != nil || a.Alone != "The form did not open. In a message, `edit 3 {…}` does the same." {
		t.Errorf("%+v, %v", a, err)
	}
	in.Fail = errors.New("the store is away")
	for _, v := range []front.Verb{front.Edit, front.Rerun, front.Approve, front.Deny, front.Good, front.TryAgain, front.Show, front.Stop, "else"} {
		if a, err := f.Click(t.Context(), front.Click{Verb: v, Thread: thread, Call: "c1", Digest: "old"}); err == nil || a.Form != nil {
			t.Errorf("%s: %+v", v, a)
		}
	}
}

// A person who stops a turn reads at once whether that may help.
func TestStop(t *testing.T) {
	in := ledger.New()
	f, _ := onSquare(in)
	for _, tt := range []struct {
		st   chat.Standing
		want string
		puts int
	}{
		{chat.Standing{Known: true}, "Nothing is running here.", 0},
		{chat.Standing{Running: true, Callers: []chat.UserID{"ada"}}, "Stopping.", 1},
		{chat.Standing{Running: true}, "Stopping, if you have written something", 2},
	} {
		in.Threads[thread] = tt.st
		a := clicks(t, f, front.Click{Verb: front.Stop, ID: tt.want, Thread: thread, By: ada})
		if !strings.HasPrefix(a.Alone, tt.want) || len(in.Halts) != tt.puts {
			t.Errorf("%q, %d stops, want %q", a.Alone, len(in.Halts), tt.want)
		}
	}
}
