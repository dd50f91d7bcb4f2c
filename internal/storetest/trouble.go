package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// odd are entries that this build can't read, or does not know.
func odd() []memory.Body {
	raw := func(s string) memory.Body { return memory.Decode([]byte(s)) }
	return []memory.Body{
		raw("no JSON at all \x00\xff"),
		raw(`{"k":"message","v":1,"b":{"text":7}}`),
		raw(`{"k":"message","v":1}`),
		raw(`{"v":1,"b":{}}`),
		raw(`{"k":"started","v":99,"b":{"call":"c1"}}`),
		memory.Unknown{Name: "later", Skip: true, Raw: json.RawMessage(`{"k":"later","v":1,"s":true,"b":[1]}`)},
	}
}

// An entry that can't be read is in the log as that, wherever it came from, and
// no other thread notices.
func brokenEntries(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	s := in.Store
	bad := thread("bad")
	var want []memory.Body
	for i, b := range odd() {
		put(t, s, bad, b, number("odd", i))
		put(t, s, thread(number("good", i)), says("hello"))
		want = append(want, b)
	}
	runs := map[chat.ThreadID]*memory.Run{}
	for range len(odd()) + 1 {
		run := next(t, s)
		runs[run.Thread] = run
	}
	wantBodies(t, "log of the bad one", runs[bad].Log, want...)
	for i := range odd() {
		run := runs[thread(number("good", i))]
		wantBodies(t, "log of a good one", run.Log, says("hello"))
		commit(t, s, run, memory.Ended{Turn: 1})
		finish(t, s, run, time.Time{})
	}
	for i, b := range odd() {
		put(t, s, bad, b, number("more", i))
	}
	wantBodies(t, "arrived", commit(t, s, runs[bad], odd()...), odd()...)
	want = append(append(want, odd()...), odd()...)
	wantBodies(t, "log of the bad one", runs[bad].Log, want...)
	finish(t, s, runs[bad], time.Time{})
	wantBodies(t, "read", read(t, s, bad), want...)
	in.Crash()
	s = in.Reopen(t).Store
	wantBodies(t, "log after a crash", claim(t, s, bad, says("last")).Log, append(want, says("last"))...)
}

// Tail gives the new entries, and enough to know whether the older ones still hold.
func tail(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("tail")
	check := func(what string, after, base, last uint64, log, inbox []memory.Body) {
		t.Helper()
		got, err := s.Tail(patient(t), th, after)
		if err != nil {
			t.Fatalf("Tail: %v", err)
		}
		wantBodies(t, what+": log", got.Log, log...)
		wantBodies(t, what+": inbox", got.Inbox, inbox...)
		wantContiguous(t, got.Log)
		if len(got.Log) > 0 && got.Log[len(got.Log)-1].Seq != got.Last {
			t.Errorf("%s: the log ends at %d, and Last is %d", what, got.Log[len(got.Log)-1].Seq, got.Last)
		}
		for _, e := range got.Inbox {
			if e.Seq != 0 || e.At.IsZero() {
				t.Errorf("%s: Seq %d and At %v in the inbox, want 0 and a time", what, e.Seq, e.At)
			}
		}
		if got.Last != last || max(got.Base, 1) != max(base, 1) {
			t.Errorf("%s: base %d and last %d, want %d and %d", what, got.Base, got.Last, base, last)
		}
	}
	list := func(b ...memory.Body) []memory.Body { return b }
	check("no such thread", 0, 0, 0, nil, nil)
	put(t, s, th, says("one"))
	check("not claimed", 0, 0, 0, nil, list(says("one")))
	run := next(t, s)
	opened, step := memory.Opened{Turn: 1}, memory.Step{Turn: 1, N: 1}
	commit(t, s, run, opened, step)
	put(t, s, th, says("two"))
	check("all", 0, 0, 3, list(says("one"), opened, step), list(says("two")))
	check("some", 2, 0, 3, list(step), list(says("two")))
	check("nothing new", 3, 0, 3, nil, list(says("two")))
	check("beyond the end", 7, 0, 3, nil, list(says("two")))
	trim := memory.Trimmed{Before: 3}
	commit(t, s, run, trim)
	check("from the base on", 0, 3, 5, list(step, trim, says("two")), nil)
	check("not before the base", 1, 3, 5, list(step, trim, says("two")), nil)
	check("after the base", 4, 3, 5, list(says("two")), nil)
	f := memory.Forgot{By: ada, Before: 6}
	commit(t, s, run, f)
	check("forgotten", 0, 6, 6, list(f), nil)
}

// Files that are dropped are gone, and make room.
func dropBlob(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	ctx, th, other := patient(t), thread("drop"), thread("other")
	keep := func(th chat.ThreadID, data string) string {
		t.Helper()
		name, err := s.PutBlob(ctx, th, []byte(data))
		if err != nil {
			t.Fatalf("PutBlob: %v", err)
		}
		return name
	}
	name, second := keep(th, "one"), keep(th, "two")
	keep(other, "one")
	for range 2 {
		if err := s.DropBlob(ctx, th, name); err != nil {
			t.Errorf("DropBlob: %v", err)
		}
	}
	if err := s.DropBlob(ctx, thread("none"), name); err != nil {
		t.Errorf("DropBlob of a thread that there is not: %v", err)
	}
	if _, err := s.Blob(ctx, th, name); !errors.Is(err, memory.ErrNoBlob) {
		t.Errorf("Blob: %v, want %v", err, memory.ErrNoBlob)
	}
	for th, name := range map[chat.ThreadID]string{th: second, other: name} {
		if _, err := s.Blob(ctx, th, name); err != nil {
			t.Errorf("Blob that was not dropped: %v", err)
		}
	}
	if again := keep(th, "one"); again != name {
		t.Errorf("the name is %q, was %q", again, name)
	}
	if _, err := s.Blob(ctx, th, name); err != nil {
		t.Errorf("Blob that was kept again: %v", err)
	}
}

// The name of a file is 64 hexadecimal digits, in every store.
func blobNames(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	name, err := s.PutBlob(patient(t), thread("names"), []byte("one"))
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(name) {
		t.Errorf("PutBlob = %q, %v, want 64 hexadecimal digits", name, err)
	}
}

// A quota is for a thread, and for all together. What is refused changes nothing,
// and there is room again after drop, forget and the end of a thread's time.
func quota(t *testing.T, open Open) {
	const keep = 3 * time.Second // longer than the steps before the end take on a busy machine
	s := open(t, Options{Keep: keep, Quota: memory.Quota{Thread: 10, All: 25}}).Store
	a, b, c := thread("a"), chat.ThreadID{Platform: platform, Channel: "elsewhere", Root: "b"}, thread("c")
	kept := func(th chat.ThreadID, data string) string {
		t.Helper()
		name, err := s.PutBlob(patient(t), th, []byte(data))
		if err != nil {
			t.Fatalf("PutBlob of %d bytes: %v", len(data), err)
		}
		return name
	}
	refused := func(th chat.ThreadID, data string, want memory.FullError) {
		t.Helper()
		_, err := s.PutBlob(patient(t), th, []byte(data))
		var got memory.FullError
		if !errors.As(err, &got) || got != want {
			t.Errorf("PutBlob of %d bytes: %v, want %v", len(data), err, want)
		}
	}
	inThread, inAll := memory.FullError{Most: 10}, memory.FullError{Most: 25, All: true}
	runA := claim(t, s, a, says("one")) // held, so that its time is not over
	runB := claim(t, s, b, says("one"))
	name := kept(a, "0123456")
	refused(a, "abcd", inThread)
	kept(a, "abc")
	kept(a, "abc") // is there already
	refused(a, "x", inThread)
	kept(b, "0123456789")
	refused(c, "abcdef", inAll)
	kept(c, "abcde")
	refused(c, "x", inAll)

	if err := s.DropBlob(patient(t), a, name); err != nil {
		t.Fatalf("DropBlob: %v", err)
	}
	if err := s.DropBlob(patient(t), a, name); err != nil {
		t.Fatalf("DropBlob: %v", err)
	}
	kept(a, "ABCDEFG")
	refused(c, "x", inAll)

	commit(t, s, runA, memory.Forgot{By: ada, Before: 2})
	kept(a, "0123456789")
	finish(t, s, runB, time.Time{})
	eventually(t, "the time of the other threads is over, and there is room", func() bool {
		_, err := s.PutBlob(patient(t), c, []byte("ten bytes!"))
		return err == nil
	})
}

// Event ids are known within a channel: the same id in another one is another
// event, and in another thread of the channel it is the same.
func eventIDsOfAChannel(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("ids")
	put(t, s, th, says("one"), "e1")
	fresh := func(what string, want bool, got bool, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s = %v, %v, want %v", what, got, err, want)
		}
	}
	got, err := s.Put(patient(t), thread("another thread"), says("one"), "e1")
	fresh("Put in another thread of the channel", false, got, err)
	got, err = s.PutRef(patient(t), ref("m1"), reacts("m1", "✅"), "e1")
	fresh("PutRef in the channel", false, got, err)
	for _, th := range []chat.ThreadID{
		{Platform: platform, Channel: "elsewhere", Root: th.Root},
		{Platform: "discord", Channel: th.Channel, Root: th.Root},
	} {
		got, err = s.Put(patient(t), th, says("one"), "e1")
		fresh(fmt.Sprintf("Put in %v", th), true, got, err)
		got, err = s.Put(patient(t), th, says("one"), "e1")
		fresh(fmt.Sprintf("Put in %v again", th), false, got, err)
	}
	on := chat.MessageRef{Platform: platform, Channel: "somewhere", ID: "m1"}
	got, err = s.PutRef(patient(t), on, reacts("m1", "✅"), "e1")
	fresh("PutRef in another channel", true, got, err)
}

// A message in another channel than the thread's is not found by it: a reaction
// there is for somebody else.
func refOfAnotherChannel(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	there := chat.MessageRef{Platform: platform, Channel: "elsewhere", ID: "m1"}
	run := claim(t, s, thread("ref"), says("one"))
	commit(t, s, run, memory.Posted{Key: "answer/1", Ref: there})
	react := memory.Reaction{Reaction: chat.Reaction{On: there, By: ada, Emoji: "✅"}}
	putRef(t, s, react)
	wantBodies(t, "arrived", commit(t, s, run))
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
	mine := memory.Message{Message: chat.Message{Ref: there, From: ada, Text: "mine"}}
	run = claim(t, s, chat.ThreadID{Platform: platform, Channel: "elsewhere", Root: "r"}, mine)
	commit(t, s, run)
	wantBodies(t, "log of the thread that has it", run.Log, mine, react)
}

// A message is known from its Put on, and is the thread's latest, though no run
// has seen it.
func knownAtPut(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("known")
	m := wrote("m1", "one")
	put(t, s, th, m)
	putRef(t, s, reacts("m1", chat.EmojiStop))
	want := []memory.Watermark{{Thread: th, Last: ref("m1"), Sent: m.Sent}}
	if diff := cmp.Diff(want, collect(t, s.Watermarks(patient(t), platform, time.Time{}, 0))); diff != "" {
		t.Errorf("watermarks (-want +got):\n%s", diff)
	}
	wantBodies(t, "log", next(t, s).Log, m, reacts("m1", chat.EmojiStop))
}

// A process knows its own name, hears of live processes, and of dead ones less and
// less.
func silent(t *testing.T, open Open) {
	in := open(t, Options{Lease: 200 * time.Millisecond})
	th := thread("silent")
	claim(t, in.Store, th, says("one")) // a process with a thread beats in its part of the store
	silence := func(s memory.Store, process string) time.Duration {
		t.Helper()
		d, err := s.Silent(patient(t), th, process)
		if err != nil {
			t.Fatalf("Silent: %v", err)
		}
		return d
	}
	self := in.Store.Self()
	if self == "" || in.Store.Self() != self {
		t.Errorf("Self = %q, then %q", self, in.Store.Self())
	}
	if d := silence(in.Store, self); d < 0 || d > Patience {
		t.Errorf("nothing was heard of this process for %v", d)
	}
	if d := silence(in.Store, "never-there-was"); d < time.Hour {
		t.Errorf("something was heard of a process that there is not, %v ago", d)
	}
	reopen := in.Reopen
	if in.Replica != nil {
		other := in.Replica(t)
		if d := silence(other.Store, self); d < 0 || d > Patience {
			t.Errorf("nothing was heard of a process that lives for %v", d)
		}
		reopen = func(*testing.T) Instance { return other }
	}
	in.Crash()
	s := reopen(t).Store
	if s.Self() == self {
		t.Errorf("two processes are %q", self)
	}
	eventually(t, "it is known that a process is silent", func() bool { return silence(s, self) > 3*200*time.Millisecond })
}

// A store that takes writes says so, and nothing of that stays.
func ping(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	for range 3 {
		if err := s.Ping(patient(t)); err != nil {
			t.Errorf("Ping: %v", err)
		}
	}
	wantNone(t, s, platform)
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := s.Ping(patient(t)); err == nil {
		t.Error("Ping of a closed store: no error")
	}
}

// A note keeps its last value over a restart, until it is erased.
func notes(t *testing.T, open Open) {
	in := open(t, Options{Lease: lease})
	want := func(s memory.Notes, name, want string) {
		t.Helper()
		got, err := s.Noted(patient(t), name)
		if err != nil || string(got) != want {
			t.Errorf("Noted(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	note := func(s memory.Notes, name, value string) {
		t.Helper()
		if err := s.Note(patient(t), name, []byte(value)); err != nil {
			t.Errorf("Note(%q, %q): %v", name, value, err)
		}
	}
	want(in.Store, "a", "")
	note(in.Store, "a", "one")
	note(in.Store, "a", "two \x00\xff")
	note(in.Store, "b/ä", "three")
	note(in.Store, "c", "four")
	note(in.Store, "c", "")
	note(in.Store, "d", "")
	swap := func(s memory.Notes, name, old, value string, want bool) {
		t.Helper()
		if done, err := s.Swap(patient(t), name, []byte(old), []byte(value)); err != nil || done != want {
			t.Errorf("Swap(%q, %q, %q) = %v, %v, want %v", name, old, value, done, err, want)
		}
	}
	swap(in.Store, "e", "x", "y", false)
	swap(in.Store, "e", "", "five\x00", true)
	swap(in.Store, "e", "x", "five\x00", true)
	swap(in.Store, "e", "", "six", false)
	swap(in.Store, "f", "", "seven", true)
	swap(in.Store, "f", "seven", "", true)
	swap(in.Store, "g", "", "", true)
	in.Crash()
	s := in.Reopen(t).Store
	want(s, "e", "five\x00")
	swap(s, "e", "five\x00", "six", true)
	want(s, "e", "six")
	want(s, "f", "")
	want(s, "g", "")
	want(s, "a", "two \x00\xff")
	want(s, "b/ä", "three")
	want(s, "c", "")
	want(s, "d", "")
}
