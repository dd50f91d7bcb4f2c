package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/chat"
	"nod/memory"
)

// The audit holds what commits say that happened, with the entries' Seq and
// At, in order, and of one thread when asked.
func auditLog(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	a := claim(t, s, thread("a"), says("one"))
	b := claim(t, s, chat.ThreadID{Platform: platform, Channel: "elsewhere", Root: "b"}, says("one"))
	commit(t, s, a,
		memory.Asked{Call: "1.1", Tool: "deploy", Digest: "ab", Requester: ada},
		memory.Vote{Call: "1.1", By: ada, Verdict: memory.Approve, Counts: true})
	commit(t, s, b, memory.Vote{By: ada, Verdict: memory.Nothing, Reason: "no such approval"}, memory.Opened{Turn: 1})
	commit(t, s, a, memory.Opened{Turn: 1},
		memory.Decided{Call: "1.1", Outcome: chat.Approved, By: []chat.User{ada}},
		memory.Started{Call: "1.1", Tool: "deploy", Digest: "ab"})
	wantA := linked(t, memory.Head{}, memory.EffectsOf(a.Thread, a.Log).Audit)
	wantB := linked(t, memory.Head{}, memory.EffectsOf(b.Thread, b.Log).Audit)
	if len(wantA) != 4 || len(wantB) != 1 {
		t.Fatalf("%d and %d lines expected, want 4 and 1", len(wantA), len(wantB))
	}
	for th, want := range map[chat.ThreadID][]memory.AuditLine{a.Thread: wantA, b.Thread: wantB, thread("none"): nil} {
		if diff := cmp.Diff(want, collect(t, s.Audit(patient(t), th)), unhashed); diff != "" {
			t.Errorf("audit of %v (-want +got):\n%s", th, diff)
		}
	}
	all := collect(t, s.Audit(patient(t), chat.ThreadID{}))
	byTime := cmpopts.SortSlices(func(x, y memory.AuditLine) bool {
		return x.At.Before(y.At) || x.At.Equal(y.At) && x.Thread.String()+x.Event < y.Thread.String()+y.Event
	})
	if diff := cmp.Diff(append(wantA, wantB...), all, byTime, unhashed); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	for i := 1; i < len(all); i++ {
		if all[i].At.Before(all[i-1].At) {
			t.Errorf("line %d is of %v, after %v", i, all[i].At, all[i-1].At)
		}
	}
	for _, err := range s.Audit(patient(t), chat.ThreadID{}) {
		if err != nil {
			t.Error(err)
		}
		break // a reader may stop where it likes
	}
}

// linked gives lines behind the end of a chain as a store resolves them.
func linked(t *testing.T, end memory.Head, lines []memory.AuditLine) (out []memory.AuditLine) {
	t.Helper()
	for _, l := range lines {
		raw, next, err := end.Link(l)
		if err != nil {
			t.Fatal(err)
		}
		l, sound := memory.ReadLine(raw)
		if !sound {
			t.Fatalf("a line that was just made is not sound: %s", raw)
		}
		out, end = append(out, l), next
	}
	return out
}

// unhashed leaves out the hashes of resolved lines: they are of pseudonyms.
var unhashed = cmpopts.IgnoreFields(memory.AuditLine{}, "Prev", "Hash")

// pseudonyms: no stored line names a person, and one person has one pseudonym in all
// threads and processes. Names and reasons come back until the key is destroyed. The
// chain is then as it was, and the person has a new pseudonym.
func pseudonyms(t *testing.T, open Open) {
	in := open(t, Options{})
	s := in.Store
	a, b := thread("a"), chat.ThreadID{Platform: platform, Channel: "elsewhere", Root: "b"}
	ask := memory.Asked{Call: "1.1", Tool: "deploy", Requester: ada, Rules: memory.Rules{Approvers: []string{"user:" + string(ada.ID), "group:G"}}}
	deny := memory.Decided{Call: "1.1", Outcome: chat.Denied, By: []chat.User{ada}, Reason: "too late in the day"}
	for _, th := range []chat.ThreadID{a, b} {
		commit(t, s, claim(t, s, th, says("go")), ask, deny, memory.Lost{Reason: "so it is said"})
	}
	if in.Replica != nil {
		s = in.Replica(t).Store
		c := chat.ThreadID{Platform: platform, Channel: "third", Root: "c"}
		commit(t, s, claim(t, s, c, says("go")), ask, deny)
	}
	before := rawLines(t, s)
	people, err := s.People(patient(t))
	if err != nil || len(people) != 2 {
		t.Fatalf("%v, %v: want the keys of ada and of nobody", people, err)
	}
	for _, p := range people {
		named := strings.Count(before, string(p.Pseudonym()))
		if want := 3 * strings.Count(before, `"asked"`); p.ID == platform+":"+string(ada.ID) && named != want {
			t.Errorf("ada is named %d times, want %d:\n%s", named, want, before)
		}
	}
	for _, text := range []string{`"` + string(ada.ID), ":" + string(ada.ID), "too late", "so it is said"} {
		if strings.Contains(before, text) {
			t.Errorf("a stored line holds %q:\n%s", text, before)
		}
	}
	want := linked(t, memory.Head{}, memory.EffectsOf(a, []memory.Entry{{Body: ask}, {Body: deny}, {Body: memory.Lost{Reason: "so it is said"}}}).Audit)
	untimed := cmpopts.IgnoreFields(memory.AuditLine{}, "At")
	if diff := cmp.Diff(want, collect(t, s.Audit(patient(t), a)), unhashed, untimed); diff != "" {
		t.Errorf("lines with names (-want +got):\n%s", diff)
	}

	if err := s.Unname(patient(t), platform+":"+string(ada.ID)); err != nil {
		t.Fatal(err)
	}
	lines := collect(t, s.Audit(patient(t), a))
	if l := lines[1]; l.Reason != "[erased]" || len(l.By) != 1 || len(l.By[0]) != len("12345678…") || !strings.Contains(before, strings.TrimSuffix(string(l.By[0]), "…")) {
		t.Errorf("without the key: %+v", l)
	}
	if lines[2].Reason != "so it is said" {
		t.Errorf("the reason that nobody gave: %q", lines[2].Reason)
	}
	if after := rawLines(t, s); after != before {
		t.Errorf("stored lines changed:\n%s\n%s", before, after)
	}
	commit(t, s, claim(t, s, thread("d"), says("go")), ask)
	if got := collect(t, s.Audit(patient(t), thread("d"))); len(got) != 1 || got[0].By[0] != ada.ID {
		t.Errorf("once more: %+v", got)
	}
	if l := collect(t, s.Audit(patient(t), a))[1]; l.By[0] == ada.ID {
		t.Errorf("the old pseudonym has a name again: %+v", l)
	}
}

// auditMarks: behind a mark are the lines that came since, once, in whichever channel. A
// mark of a line that is not there says so: that store is older.
func auditMarks(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	newer := func(mark string) (lines []string, end string) {
		t.Helper()
		end, older, err := s.Newer(patient(t), mark, func(k memory.KeptLine) { lines = append(lines, string(k.Raw)) })
		if err != nil || older {
			t.Fatalf("behind %q: older %v, %v", mark, older, err)
		}
		return lines, end
	}
	if lines, end := newer(""); len(lines) != 0 || end != "" {
		t.Errorf("in an empty log: %q, mark %q", lines, end)
	}
	mark := ""
	for i, channel := range []string{"a", "b", "a", "c"} {
		run := claim(t, s, chat.ThreadID{Platform: platform, Channel: channel, Root: "1"}, says("go"))
		commit(t, s, run, memory.Started{Call: fmt.Sprint(i)}, memory.Result{Call: fmt.Sprint(i), State: chat.CallDone})
		finish(t, s, run, time.Time{})
		lines, end := newer(mark)
		if at, err := s.Mark(patient(t)); err != nil || at != end || end == mark || len(lines) != 2 || !strings.Contains(lines[0], `"started"`) {
			t.Errorf("after run %d: %q, mark %q, want %q (%v)", i, lines, end, at, err)
		}
		if again, same := newer(end); len(again) != 0 || same != end {
			t.Errorf("behind the end: %q, mark %q", again, same)
		}
		mark = end
	}
	if lines, _ := newer(""); len(lines) != 8 {
		t.Errorf("%d lines in all, want 8", len(lines))
	}
	other := strings.Replace(mark, "~", "~0", 1)
	if _, older, err := s.Newer(patient(t), other, func(memory.KeptLine) {}); !older || err != nil {
		t.Errorf("behind a line that is not there: older %v, %v", older, err)
	}
}

func rawLines(t *testing.T, s memory.Auditor) string {
	t.Helper()
	var all []string
	for k, err := range s.Lines(patient(t)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(k.Raw))
	}
	return strings.Join(all, "\n")
}

// The lines of each thread are one chain over claims, replicas, a death and a `forget`;
// the stored end is its end.
func auditChain(t *testing.T, open Open) {
	one := open(t, Options{Lease: lease})
	a, b := thread("a"), chat.ThreadID{Platform: platform, Channel: "elsewhere", Root: "b"}
	wantChains(t, one.Store, nil)
	for range 3 {
		for _, th := range []chat.ThreadID{a, b} {
			run := claim(t, one.Store, th, says("go"))
			commit(t, one.Store, run, memory.Asked{Call: "1.1", Tool: "deploy", Digest: "ab", Requester: ada})
			commit(t, one.Store, run, memory.Decided{Call: "1.1", Outcome: chat.Approved}, memory.Started{Call: "1.1"})
			finish(t, one.Store, run, time.Time{})
		}
	}
	put(t, one.Store, a, memory.Result{Call: "1.1", State: chat.CallDone}) // enters by Finish
	run := next(t, one.Store)
	finish(t, one.Store, run, time.Time{})
	wantChains(t, one.Store, map[string]uint64{a.String(): 10, b.String(): 9})

	run = claim(t, one.Store, a, says("go"))
	commit(t, one.Store, run, memory.Forgot{By: ada, Before: memory.LastSeq(run.Log) + 1})
	one.Crash()
	two := one.Reopen(t)
	run = claim(t, two.Store, a, says("again"))
	commit(t, two.Store, run, memory.Lost{Reason: "so it is said"})
	finish(t, two.Store, run, time.Time{})
	wantChains(t, two.Store, map[string]uint64{a.String(): 12, b.String(): 9})
	if two.Replica == nil {
		return
	}
	three := two.Replica(t)
	for i, s := range []memory.Store{three.Store, two.Store, three.Store} {
		run := claim(t, s, b, says("go"))
		commit(t, s, run, memory.Started{Call: "2.1"})
		finish(t, s, run, time.Time{})
		wantChains(t, three.Store, map[string]uint64{a.String(): 12, b.String(): uint64(10 + i)})
	}
}

func wantChains(t *testing.T, s memory.Auditor, want map[string]uint64) {
	t.Helper()
	ends := map[string]memory.Head{}
	for k, err := range s.Lines(patient(t)) {
		if err != nil {
			t.Fatal(err)
		}
		l, sound := memory.ReadLine(k.Raw)
		name := l.Thread.String()
		if end := ends[name]; !sound || l.Seq != end.Seq+1 || l.Prev != end.Hash || k.Thread != "" && k.Thread != name {
			t.Errorf("line %s (kept for %q; sound: %v) does not follow %v", k.Raw, k.Thread, sound, end)
		}
		ends[name] = memory.Head{Seq: l.Seq, Hash: l.Hash}
	}
	heads, err := s.Heads(patient(t))
	if diff := cmp.Diff(ends, heads); diff != "" || err != nil {
		t.Errorf("ends that are kept: %v, (-lines +kept):\n%s", err, diff)
	}
	seqs := map[string]uint64{}
	for th, h := range heads {
		seqs[th] = h.Seq
	}
	if diff := cmp.Diff(want, seqs, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("lines of each thread (-want +got):\n%s", diff)
	}
}
