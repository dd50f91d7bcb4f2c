package lab_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/chat"
	"nod/lab"
	"nod/memory"
)

// replay replays all turns of a file.
func replay(t testing.TB, l *lab.Lab, threads map[chat.ThreadID][]memory.Entry) *lab.Report {
	t.Helper()
	var r lab.Report
	for id, log := range threads {
		turns, ok := lab.Read(id, log, time.Time{})
		if !ok {
			t.Fatalf("%v can't be read", id)
		}
		for _, turn := range turns {
			turn.Place = "board:c"
			d, err := l.Replay(t.Context(), turn)
			if err != nil {
				t.Fatalf("%v turn %d: %v", id, turn.Turn, err)
			}
			r.Add(d)
		}
	}
	r.Sort()
	return &r
}

// files are the bytes of all that lies beside a store.
func files(t *testing.T, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	list, err := filepath.Glob(filepath.Dir(path) + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if out[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

const recorded = 50

// An unchanged replay gives the same result, whole prompts included. The fifty threads
// have approvals that were given, denied, expired and stopped, trims, plans, and
// messages that came meanwhile. No tool runs, and no byte of the store changes.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	a, model, tools := newAgent(t), &oracle{}, &probe{}
	path := record(t, recorded, a, model, tools)
	before, ran := files(t, path), tools.ran.Load()
	threads := entries(t, path, recorded)
	if !slices.ContainsFunc(threads[thread(42)], func(e memory.Entry) bool { b, ok := e.Body.(memory.Changed); return ok && b.Refused == "" }) {
		t.Error("no call was changed")
	}
	if !slices.ContainsFunc(threads[thread(6)], func(e memory.Entry) bool { _, ok := e.Body.(memory.Trimmed); return ok }) {
		t.Error("nothing was trimmed")
	}
	for _, mode := range []lab.Mode{lab.Calls, lab.Turns, lab.Rules} {
		asked := model.asked.Load()
		r := replay(t, &lab.Lab{Agent: a, Model: model, Mode: mode}, threads)
		if r.Turns < recorded || r.Same != r.Turns {
			var text bytes.Buffer
			_ = r.Text(&text, mode)
			t.Errorf("%s: %d of %d turns are the same:\n%s", mode, r.Same, r.Turns, text.String())
		}
		if r.Old != r.New || r.Old.Asked != 30 {
			t.Errorf("%s: old %+v, new %+v, want the same, and 30 approvals", mode, r.Old, r.New)
		}
		if mode == lab.Rules && model.asked.Load() != asked {
			t.Error("rules: the model was asked")
		}
	}
	if n := tools.ran.Load() - ran; n != 0 || ran == 0 {
		t.Errorf("%d tools ran in the replay, %d before", n, ran)
	}
	t.Run("rules", func(t *testing.T) { otherRules(t, a, threads) })
	after := files(t, path)
	if len(after) != len(before) {
		t.Errorf("there were %d files, and are %d", len(before), len(after))
	}
	for f, was := range before {
		if !bytes.Equal(was, after[f]) {
			t.Errorf("%s was changed", filepath.Base(f))
		}
	}
}

// A grant counts in the replay too, from the same place on: later in the turn, and in
// the turns after it. Without grants each call asks.
func TestGrants(t *testing.T) {
	t.Parallel()
	a, model := newAgent(t), &oracle{}
	a.Key = []byte("of the store")
	for i := range a.Tools {
		a.Tools[i].Rules.Grants = memory.Grants{Most: time.Hour, Uses: 20}
	}
	threads := entries(t, recordAs(t, 1, func(r *recording, i int) {
		r.say(i, "use deploy deploy (same)")
		r.say(i, "allow 1 1h")
		r.say(i, "use deploy (same)")
	}, a, model, &probe{}), 1)
	for _, mode := range []lab.Mode{lab.Calls, lab.Turns, lab.Rules} {
		r := replay(t, &lab.Lab{Agent: a, Model: model, Mode: mode}, threads)
		if r.Turns != 2 || r.Same != 2 || r.Old.Asked != 1 || r.New.Asked != 1 {
			var text bytes.Buffer
			_ = r.Text(&text, mode)
			t.Errorf("%s: %d of %d turns are the same:\n%s\nasked %d times, now %d", mode, r.Same, r.Turns, text.String(), r.Old.Asked, r.New.Asked)
		}
	}
	off := *a
	off.Tools = slices.Clone(a.Tools)
	for i := range off.Tools {
		off.Tools[i].Rules.Grants = memory.Grants{}
	}
	if r := replay(t, &lab.Lab{Agent: &off, Mode: lab.Rules}, threads); r.New.Asked != 3 {
		t.Errorf("without grants it would have asked %d times, want 3", r.New.Asked)
	}
}

// With one changed instruction only the answers differ that the model was scripted to
// change.
func TestInstruction(t *testing.T) {
	t.Parallel()
	a, model := newAgent(t), &oracle{}
	threads := entries(t, record(t, 20, a, model, &probe{}), 20)
	other := *a
	other.Instructions = "Be thorough."
	for _, mode := range []lab.Mode{lab.Calls, lab.Turns} {
		r := replay(t, &lab.Lab{Agent: &other, Model: model, Mode: mode}, threads)
		var got []string
		for _, d := range r.Differ {
			got = append(got, d.Thread)
			if want := []string{"calls", "answer"}; !slices.Equal(d.What, want) {
				t.Errorf("%s: %s differs in %q, want %q", mode, d.Thread, d.What, want)
			}
			if mode == lab.Turns && (len(d.Old.Calls) != 2 || len(d.New.Calls) != 3 || !slices.Equal(d.Old.Calls[0].Arguments, d.New.Calls[0].Arguments)) {
				t.Errorf("%s: calls %v became %v", mode, d.Old.Calls, d.New.Calls)
			}
		}
		if want := []string{thread(1).String(), thread(11).String()}; !slices.Equal(got, want) {
			t.Errorf("%s: %q differ, want %q", mode, got, want)
		}
	}
}

// Other rules, counted by hand: of fifty threads thirty asked once, each fifth for
// what came from outside; five of the others were denied, five expired, and five
// were stopped.
func otherRules(t *testing.T, a *agent.Agent, threads map[chat.ThreadID][]memory.Entry) {
	risk := func(tool string, r policy.Risk) func(*agent.Agent) {
		return func(a *agent.Agent) {
			for i := range a.Tools {
				if a.Tools[i].Name == tool {
					a.Tools[i].Risk = r
				}
			}
		}
	}
	for _, tt := range []struct {
		name          string
		change        func(*agent.Agent)
		asked, differ int
		unasked       string
	}{
		{"taint off", func(a *agent.Agent) { a.Taint = false }, 25, 5, "5 calls would have run unasked"},
		{"deploy is auto", risk("deploy", policy.Auto), 5, 25, "25 calls would have run unasked"},
		{"deploy is refused", risk("deploy", policy.Never), 5, 25, "nothing that was asked for or refused would have run unasked"},
		{"there is no deploy in the room", func(a *agent.Agent) {
			a.Rooms = map[string]agent.Room{"board:c": {Without: map[string]bool{"deploy": true}}}
		}, 5, 25, "nothing that was asked for or refused would have run unasked"},
		// Every note: of five stories six each, of five deployments and plans one each.
		{"note asks", risk("note", policy.Ask), 30 + 30 + 5 + 5, 30 + 5 + 5, "nothing that was asked"},
		{"look asks", risk("look", policy.Ask), 30 + 10 + 5 + 10 + 5, 5 + 5 + 10 + 5, "nothing that was asked"},
	} {
		other := *a
		other.Tools = slices.Clone(a.Tools)
		tt.change(&other)
		r := replay(t, &lab.Lab{Agent: &other, Mode: lab.Rules}, threads)
		if r.Old.Asked != 30 || r.New.Asked != tt.asked || len(r.Differ) != tt.differ {
			t.Errorf("%s: asks %d instead of %d in %d turns, want %d instead of 30 in %d", tt.name, r.New.Asked, r.Old.Asked, len(r.Differ), tt.asked, tt.differ)
		}
		var text bytes.Buffer
		if err := r.Text(&text, lab.Rules); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), tt.unasked) {
			t.Errorf("%s: the report does not say %q:\n%s", tt.name, tt.unasked, text.String())
		}
		if tt.name == "deploy is auto" && strings.Count(text.String(), "was denied by ada)") != 5 {
			t.Errorf("the report does not say what had been denied:\n%s", text.String())
		}
	}
}
