package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// older plays what Next records of a log, and gives the first other action.
func older(t *testing.T, a *agent.Agent, entries []memory.Entry, c agent.Claim) ([]memory.Body, do.Action) {
	t.Helper()
	var all []memory.Body
	for range 20 {
		rec, ok := a.Next(agent.NewLog(entries, c)).(do.Record)
		if !ok {
			return all, a.Next(agent.NewLog(entries, c))
		}
		for _, b := range rec.Bodies {
			at := entries[len(entries)-1]
			entries = append(entries, memory.Entry{Seq: at.Seq + 1, At: at.At, Body: b})
			all = append(all, b)
		}
	}
	t.Fatal("it records for ever")
	return nil, nil
}

// Nothing is decided by a card from an earlier process before this one knows what it
// shows: not by a vote, not by a stop, and not by the clock.
func TestNothingIsDecidedByAnUnknownCard(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	unknown := agent.Claim{Proven: func(string) bool { return false }}
	for name, b := range map[string]memory.Entry{
		"vote":  entry(6, memory.Reaction{Reaction: chat.Reaction{On: ref("ask/d"), By: chat.User{ID: "ada"}, Emoji: "✅"}}),
		"stop":  entry(6, from("ada", "stop")),
		"clock": {Seq: 6, At: morning.Add(time.Hour), Body: memory.Due{}},
	} {
		log := append(askedBy(t, a), b)
		act, ok := a.Next(agent.NewLog(log, unknown)).(do.Prove)
		if !ok || act.Ref != ref("ask/d") {
			t.Errorf("%s: the card is not read, but %T", name, a.Next(agent.NewLog(log, unknown)))
		}
		if _, again := a.Next(agent.NewLog(log, agent.Claim{Proven: func(p string) bool { return p == act.Proof }})).(do.Prove); again {
			t.Errorf("%s: it is read again", name)
		}
	}
}

// A card that shows more than the log is believed, and never drawn again, before and after
// the timeout.
func TestACardThatShowsMoreIsBelieved(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	for shows, want := range map[string]chat.CallState{
		"Approved by ann · done in 0.1 s":     chat.CallDone,
		"Approved by ann · running":           chat.CallUnknown,
		"Approved by ann · failed: status 1":  chat.CallUnknown,
		"Approved by ann · outcome unknown":   chat.CallUnknown,
		"Denied by ben: done in a hurry":      chat.CallDenied,
		"Expired":                             chat.CallExpired,
		"Cancelled":                           chat.CallCancelled,
		"something that only a new build has": chat.CallUnknown,
	} {
		for _, late := range []time.Duration{0, time.Hour} {
			log := append(askedBy(t, a), memory.Entry{Seq: 6, At: morning.Add(late), Body: memory.Due{}})
			lost, ok := approval.Restored(agent.NewLog(log, agent.Claim{}).Thread, "d", ref("ask/d"), chat.Shown{Headline: shows})
			if !ok {
				t.Fatalf("%s: nothing comes of it", shows)
			}
			if known := want != chat.CallUnknown || strings.HasPrefix(shows, "Approved"); approval.ShowsDecision(shows) != known {
				t.Errorf("%s: it shows a decision: %v", shows, !known)
			}
			log = append(log, memory.Entry{Seq: 7, At: morning.Add(late), Body: lost})
			all, act := older(t, a, log, agent.Claim{})
			i := slices.IndexFunc(all, func(b memory.Body) bool { _, ok := b.(memory.Result); return ok })
			if i < 0 || all[i].(memory.Result).State != want {
				t.Errorf("%s: %+v, want %s", shows, all, want)
			}
			if _, calls := act.(do.Call); !calls {
				t.Errorf("%s: then comes %+v", shows, act)
			}
		}
	}
}

// A card that shows no more than the log proves nothing. One that asks for arguments that the
// log never had proves that the store is older, and the call is asked anew.
func TestACardThatShowsTheSame(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	waits := askedBy(t, a)
	for shows, log := range map[string][]memory.Entry{
		"":                          waits,
		"Approved by ada · running": approvedAt(waits),
	} {
		if lost, ok := approval.Restored(agent.NewLog(log, agent.Claim{}).Thread, "d", ref("ask/d"), chat.Shown{Headline: shows}); ok {
			t.Errorf("%q: %+v", shows, lost)
		}
	}
	digest := waits[3].Body.(memory.Asked).Digest[:12]
	for shows, want := range map[chat.Shown]bool{{Headline: "Approval 1: deploy", Digest: digest}: false, {Headline: "Approval 1: deploy", Digest: "0123456789ab"}: true, {Headline: "Approval 1: deploy"}: true} {
		lost, ok := approval.Restored(agent.NewLog(waits, agent.Claim{}).Thread, "d", ref("ask/d"), shows)
		if ok != want || ok && lost.Call != "" {
			t.Errorf("%v: %v, %+v", shows, ok, lost)
		}
	}
	if _, ok := approval.Restored(agent.NewLog(approvedAt(waits), agent.Claim{}).Thread, "d", ref("ask/d"), chat.Shown{Headline: "Approved by ada · done in 1 s"}); !ok {
		t.Error("a call that ran is to run")
	}
}

// Once the store came back older each call that waits is asked anew, once, on a new card,
// and no vote from before counts. A call whose tool changed is shown as it is now.
func TestAskedAnewAfterARestore(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	vote := entry(6, memory.Reaction{Reaction: chat.Reaction{On: ref("ask/d"), By: chat.User{ID: "ada"}, Emoji: "✅", Found: true}})
	elsewhere := chat.MessageRef{Platform: "slack", Channel: "ops", ID: "copy"}
	copied := append(askedBy(t, a), entry(6, memory.Notified{Call: "d", Places: []string{"channel:ops"}}),
		entry(7, memory.Posted{Key: "copy/d/channel:ops", Ref: elsewhere}))
	onCopy := memory.Reaction{Reaction: chat.Reaction{On: elsewhere, By: chat.User{ID: "ada"}, Emoji: "✅", Found: true}}
	edits := append(askedBy(t, a), entry(6, memory.Change{Call: "d", By: chat.User{ID: "ada"}, Args: `{"env":"test"}`}))
	edited, ok := a.Changed(agent.NewLog(edits, agent.Claim{}), do.Change{Seq: 6}, nil)
	if !ok || edited.Refused != "" {
		t.Fatalf("the edit is refused: %+v", edited)
	}
	for name, log := range map[string][]memory.Entry{
		"waits":    append(askedBy(t, a), vote, entry(7, memory.Lost{})),
		"a copy":   append(slices.Clone(copied), entry(8, onCopy), entry(9, memory.Lost{})),
		"an edit":  append(edits, entry(7, edited), entry(8, memory.Lost{})),
		"approved": append(approvedAt(askedBy(t, a)), entry(7, memory.Lost{})),
		"no card":  append(askedBy(t, a)[:4], entry(5, memory.Lost{})),
	} {
		all, act := older(t, a, log, agent.Claim{})
		asked := 0
		for _, b := range all {
			if x, ok := b.(memory.Asked); ok && x.Restored && x.Number == 101 {
				asked++
				if edited := x.Digest != log[3].Body.(memory.Asked).Digest; edited != (name == "an edit") {
					t.Errorf("%s: it is asked for with other arguments: %v", name, edited)
				}
			}
		}
		old, edits := act.(do.Edit)
		card, posts := act.(do.Post)
		judge, judges := act.(do.Judge)
		switch {
		case asked != 1:
			t.Errorf("%s: it is asked anew %d times: %+v", name, asked, all)
		case judges && judge.Reaction.By.ID == "ada": // it is told why it does not count
			if _, v, _, ok := a.Vote(agent.NewLog(append(log, recorded(log, all)...), agent.Claim{}), nil); !ok || v.Counts {
				t.Errorf("%s: the old vote counts", name)
			}
		case edits && !strings.Contains(old.Post.Approval.Headline, "asked again as approval 101"):
			t.Errorf("%s: the old card shows %q", name, old.Post.Approval.Headline)
		case posts && !strings.HasPrefix(card.Post.Key, "ask/d!1"):
			t.Errorf("%s: posted %q", name, card.Post.Key)
		case !edits && !posts && !judges:
			t.Errorf("%s: then comes %+v", name, act)
		}
	}
	shown := append(slices.Clone(copied), entry(8, memory.Lost{Call: "d", Shows: "Approved by ann · done in 0.1 s"}))
	ended, _ := older(t, a, shown, agent.Claim{})
	for _, act := range a.Beside(agent.NewLog(append(shown, recorded(shown, ended)...), agent.Claim{})) {
		if e, edits := act.(do.Edit); edits {
			t.Errorf("a copy of a card that shows more is drawn again: %q", e.Post.Approval.Headline)
		}
	}
	other := asking(newTool("deploy", policy.Ask, anyone))
	other.Tools[0].Definition = "another"
	log := append(askedBy(t, a), vote, entry(7, memory.Lost{}))
	all, _ := older(t, other, log, agent.Claim{})
	if x, ok := all[len(all)-1].(memory.Asked); !ok || !x.Restored || x.Digest == log[3].Body.(memory.Asked).Digest {
		t.Errorf("a call whose tool changed is asked anew as %+v", all)
	}
}

// A grant from before a restore may have been used up or taken back since. So it allows
// nothing, also where the log was trimmed, and people are asked.
func TestAGrantOfBeforeARestore(t *testing.T) {
	t.Parallel()
	rules := anyone
	rules.Grants = memory.Grants{Most: time.Hour, Uses: 5}
	a := asking(newTool("deploy", policy.Ask, rules))
	asked := askedBy(t, a)[3].Body.(memory.Asked)
	given := memory.Granted{Number: 1, Tool: "deploy", Digest: asked.Digest, Args: `{"env":"prod"}`, By: []chat.User{{ID: "ada"}}, For: time.Hour, Uses: 5, Rules: rules}
	carried := memory.Trimmed{Before: 1, Grants: []memory.Carried{{Granted: given, Until: morning.Add(time.Hour), Used: 1}}}
	call := stepWith(1, 1, 2, memory.Call{ID: "d", Tool: "deploy", Args: `{"env":"prod"}`, Object: true})
	for name, x := range map[string]struct {
		entries []memory.Body
		asks    bool
	}{
		"no restore":      {[]memory.Body{given}, false},
		"given before":    {[]memory.Body{given, memory.Lost{}}, true},
		"used since":      {[]memory.Body{given, memory.Lost{Own: true}}, true},
		"trimmed before":  {[]memory.Body{carried, memory.Lost{}}, true},
		"a card is older": {[]memory.Body{given, memory.Lost{Call: "x", Shows: "Expired"}}, true},
		"given since":     {[]memory.Body{memory.Lost{}, given}, false},
	} {
		log := entriesOf(append(x.entries, from("ada", "go"))...)
		n := uint64(len(log))
		step := call
		step.Turn, step.Seen = n, n+1
		log = append(log, entry(n+1, memory.Opened{Turn: n, Name: "1", Requester: chat.User{ID: "ada"}}), entry(n+2, step))
		all, act := older(t, a, log, agent.Claim{})
		if _, asks := act.(do.Open); asks != x.asks {
			t.Errorf("%s: it asks: %v; recorded %+v, then %+v", name, asks, all, act)
		}
	}
}

// recorded are bodies as entries behind a log.
func recorded(log []memory.Entry, bodies []memory.Body) (out []memory.Entry) {
	for i, b := range bodies {
		out = append(out, memory.Entry{Seq: log[len(log)-1].Seq + uint64(i) + 1, At: log[len(log)-1].At, Body: b})
	}
	return out
}

// A turn that had gone further than its log ends: its effects may have run. What waited
// to be taken up may have been, too, and people are asked to ask again.
func TestATurnThatHadGoneFurtherEnds(t *testing.T) {
	t.Parallel()
	a := asking(newTool("book", policy.Auto, anyone))
	ended := func(all []memory.Body) bool {
		return slices.ContainsFunc(all, func(b memory.Body) bool { _, ok := b.(memory.Failed); return ok })
	}
	own := memory.Lost{Own: true}
	step := stepWith(1, 1, 2, memory.Call{ID: "d", Tool: "book", Args: `{}`, Object: true})
	opened := memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}
	all, _ := older(t, a, entriesOf(from("ada", "go"), opened, step, own), agent.Claim{})
	if r, ok := all[0].(memory.Result); !ok || r.State != chat.CallUnknown {
		t.Errorf("an effect that may have run: %+v", all)
	}
	all, _ = older(t, a, entriesOf(from("ada", "go"), opened, step, memory.Started{Call: "d"}, memory.Result{Call: "d", State: chat.CallDone}, own), agent.Claim{})
	if !ended(all) {
		t.Errorf("a turn whose next call of the model may have been made goes on: %+v", all)
	}
	all, act := older(t, a, entriesOf(from("ada", "go"), own), agent.Claim{})
	if _, waits := act.(do.Wait); !waits || len(all) > 0 {
		t.Errorf("what waited is taken up: %+v, %+v", all, act)
	}
	all, _ = older(t, a, entriesOf(from("ada", "go"), opened, step, memory.Started{Call: "d"}, own, memory.Result{Call: "d", State: chat.CallDone}), agent.Claim{})
	if ended(all) {
		t.Error("a turn that went on since is ended")
	}
}

// People are told once, from when the copy is.
func TestPeopleAreToldOfARestore(t *testing.T) {
	t.Parallel()
	a := asking()
	log := entriesOf(memory.Restored{Copy: morning})
	_, act := older(t, a, log, agent.Claim{})
	p, ok := act.(do.Post)
	if want := "I was restored from a copy of " + morning.UTC().Format("2006-01-02 15:04 UTC") + "; ask again what still matters."; !ok || p.Post.Text.Markdown != want {
		t.Fatalf("people are told %+v", act)
	}
	if _, act = older(t, a, append(log, entry(2, memory.Posted{Key: p.Post.Key, Ref: ref("x")})), agent.Claim{}); act != (do.Wait{}) {
		t.Errorf("and again: %+v", act)
	}
}

// Numbers of cards count on, whatever becomes of the log: none is 0, and none that may
// stand in the thread is used again.
func TestCardsCountOn(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	asked := askedBy(t, a)
	word := from("ada", "forget")
	word.Ref = ref("forget")
	forgets := append(slices.Clone(asked), entry(6, memory.Ended{Turn: 1}), entry(7, word))
	forgot, _ := older(t, a, forgets, agent.Claim{})
	next := stepWith(10, 1, 11, memory.Call{ID: "e", Tool: "deploy", Args: `{}`, Object: true})
	for want, log := range map[int][]memory.Entry{
		1:   nil,
		2:   append(recorded(forgets, forgot), entry(9, memory.Posted{Key: "forgot/8"})), // everything before it is erased
		101: append(askedBy(t, a), entry(6, memory.Result{Call: "d"}), entry(7, memory.Lost{})),
		201: append(askedBy(t, a), entry(6, memory.Result{Call: "d"}), entry(7, memory.Lost{Own: true, Lines: 120})),
		401: {entry(6, memory.Trimmed{Asks: 300}), entry(7, memory.Lost{Own: true})},
	} {
		log = append(log, entry(10, from("ada", "go")), entry(11, memory.Opened{Turn: 10, Name: "10", Requester: chat.User{ID: "ada"}}), entry(12, next))
		_, act := older(t, a, log, agent.Claim{})
		if open, ok := act.(do.Open); !ok || open.Asked[0].Number != want {
			t.Errorf("want card %d, got %+v", want, act)
		}
	}
}
