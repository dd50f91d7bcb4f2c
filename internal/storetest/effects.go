package storetest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/chat"
	"nod/memory"
)

// A reaction on a message that the bot posted finds its thread, while the run
// is held and after.
func refAfterPosted(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ref"), says("one"))
	ask := posted(memory.AskName("1.1"), "ask")
	commit(t, s, run, ask)
	putRef(t, s, reacts("ask", "👍"))
	wantBodies(t, "arrived", commit(t, s, run), reacts("ask", "👍"))
	finish(t, s, run, time.Time{})
	putRef(t, s, reacts("ask", "❌"))
	wantBodies(t, "log", next(t, s).Log, says("one"), ask, reacts("ask", "👍"), reacts("ask", "❌"))
}

// A reaction that comes before its message is known waits, and enters with the
// very commit that makes the message known.
func refBeforePosted(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ref"), says("one"))
	putRef(t, s, reacts("early", "👍"))
	putRef(t, s, reacts("early", "❌"))
	putRef(t, s, reacts("never", "❌"))
	wantBodies(t, "arrived before", commit(t, s, run, memory.Opened{Turn: 1}))
	p := posted(memory.AskName("1.1"), "early")
	wantBodies(t, "arrived", commit(t, s, run, p), reacts("early", "👍"), reacts("early", "❌"))
	wantBodies(t, "arrived after", commit(t, s, run, p))
	finish(t, s, run, time.Time{})
	wantNone(t, s, platform)
}

// People's messages are known as well: in the inbox, in the log, after the end.
func refOfMessage(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ref"), wrote("m1", "one"))
	putRef(t, s, reacts("m1", chat.EmojiStop))
	wantBodies(t, "arrived", commit(t, s, run), reacts("m1", chat.EmojiStop))
	finish(t, s, run, time.Time{})
	putRef(t, s, reacts("m1", chat.EmojiRetry))
	run = next(t, s)
	wantBodies(t, "log", run.Log[2:], reacts("m1", chat.EmojiRetry))
}

// A reaction that overtakes the message it is on comes in after it.
func refBeforeMessage(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	putRef(t, s, reacts("m1", chat.EmojiStop))
	run := claim(t, s, thread("ref"), wrote("m1", "one"))
	commit(t, s, run) // which may bring it, where the claim did not
	wantBodies(t, "log", run.Log, wrote("m1", "one"), reacts("m1", chat.EmojiStop))
	finish(t, s, run, time.Time{})
}

// Event ids count for reactions too, waiting or not.
func refEventIDs(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ref"), says("one"))
	putRef(t, s, reacts("early", "👍"), "e1", "r1")
	again := func(id string) {
		t.Helper()
		fresh, err := s.PutRef(patient(t), ref("early"), reacts("early", "👍"), id, "new")
		if err != nil || fresh {
			t.Errorf("PutRef of known id %q = %v, %v, want not fresh", id, fresh, err)
		}
	}
	again("e1")
	wantBodies(t, "arrived", commit(t, s, run, posted("steps/1", "early")), reacts("early", "👍"))
	again("r1")
	wantBodies(t, "arrived", commit(t, s, run))
	putRef(t, s, reacts("early", "❌"), "new")
	wantBodies(t, "arrived", commit(t, s, run), reacts("early", "❌"))
}

// A reaction that finds its thread wakes it; one that waits wakes nothing.
func refWakes(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("ref"), says("one"))
	commit(t, s, run, posted("answer/1", "a1"))
	finish(t, s, run, time.Time{})
	putRef(t, s, reacts("unknown", "👍"))
	wantNone(t, s, platform)
	putRef(t, s, reacts("a1", "👍"))
	if got := next(t, s).Thread; got != run.Thread {
		t.Errorf("claimed %v, want %v", got, run.Thread)
	}
}

// Entries before the base are no longer loaded, but can still be read.
func trimmed(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("trim"), says("one"))
	commit(t, s, run, memory.Ended{Turn: 1}, says("two"), memory.Ended{Turn: 3})
	trim := memory.Trimmed{Before: 3, Stubs: []string{"1.1"}}
	commit(t, s, run, trim)
	late := []memory.Body{says("two"), memory.Ended{Turn: 3}, trim}
	finish(t, s, run, time.Time{})
	wantBodies(t, "read", read(t, s, run.Thread), append([]memory.Body{says("one"), memory.Ended{Turn: 1}}, late...)...)

	run = claim(t, s, run.Thread, says("three"))
	wantBodies(t, "log of the next run", run.Log, append(late, says("three"))...)
	if run.Log[0].Seq != 3 {
		t.Errorf("the log begins at %d, want 3", run.Log[0].Seq)
	}
	commit(t, s, run, memory.Ended{Turn: 6})
	if got := run.Log[len(run.Log)-1].Seq; got != 7 {
		t.Errorf("Seq %d, want 7", got)
	}
}

// A base that an older rule would choose does not bring back what was dropped.
func baseNeverFalls(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("base"), says("one"))
	commit(t, s, run, says("two"), says("three"), memory.Trimmed{Before: 3})
	commit(t, s, run, memory.Trimmed{Before: 2})
	commit(t, s, run, memory.Ended{Turn: 1})
	if tail, err := s.Tail(patient(t), run.Thread, 0); err != nil || tail.Base != 3 {
		t.Errorf("the base is %d, %v, want 3", tail.Base, err)
	}
	want := []memory.Body{says("three"), memory.Trimmed{Before: 3}, memory.Trimmed{Before: 2}, memory.Ended{Turn: 1}}
	finish(t, s, run, time.Time{})
	wantBodies(t, "log of the next run", claim(t, s, run.Thread, says("four")).Log, append(want, says("four"))...)
}

// Forgetting erases what was said, and keeps what makes things happen once.
func forgot(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("forget")
	put(t, s, th, wrote("m1", "secret"), "e1")
	run := next(t, s)
	name, err := s.PutBlob(patient(t), th, []byte("secret"))
	if err != nil {
		t.Fatalf("PutBlob: %v", err)
	}
	started := memory.Started{Call: "1.1", Tool: "deploy", Digest: "ab"}
	commit(t, s, run, memory.Step{Turn: 1, N: 1, Thought: "secret"}, started, memory.Result{Call: "1.1", Text: "secret"})
	lines := collect(t, s.Audit(patient(t), th))
	f := memory.Forgot{By: ada, Before: 6}
	commit(t, s, run, memory.Ended{Turn: 1}, f)
	end := memory.Head{Seq: lines[len(lines)-1].Seq, Hash: lines[len(lines)-1].Hash}
	lines = append(lines, linked(t, end, memory.EffectsOf(th, run.Log[len(run.Log)-1:]).Audit)...)
	if got := run.Log[len(run.Log)-1].Seq; got != 6 {
		t.Errorf("Forgot has Seq %d, want 6", got)
	}
	finish(t, s, run, time.Time{})

	log := read(t, s, th)
	wantBodies(t, "read", log, started, f)
	if log[0].Seq != 3 {
		t.Errorf("Started has Seq %d, want 3", log[0].Seq)
	}
	if _, err := s.Blob(patient(t), th, name); !errors.Is(err, memory.ErrNoBlob) {
		t.Errorf("Blob: %v, want %v", err, memory.ErrNoBlob)
	}
	if diff := cmp.Diff(lines, collect(t, s.Audit(patient(t), th)), unhashed); diff != "" {
		t.Errorf("the audit changed (-before +after):\n%s", diff)
	}
	if fresh, err := s.Put(patient(t), th, wrote("m1", "secret"), "e1"); err != nil || fresh {
		t.Errorf("Put of a known id = %v, %v, want not fresh", fresh, err)
	}
	wantBodies(t, "log of the next run", claim(t, s, th, says("new")).Log, f, says("new"))
}

// Forgetting twice loses no Started, and nothing that came after.
func forgotKeepsLater(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	run := claim(t, s, thread("later"), says("one"))
	st := func(call string) memory.Started { return memory.Started{Call: call} }
	first, second := memory.Forgot{By: ada, Before: 4}, memory.Forgot{By: ada, Before: 6}
	commit(t, s, run, st("a"), memory.Trimmed{Before: 2}, first, st("b"), says("written after"))
	put(t, s, run.Thread, says("meanwhile"))
	done := posted("forgot/1", "f1")
	wantBodies(t, "arrived", commit(t, s, run, second, done), says("meanwhile"))
	rest := []memory.Body{says("written after"), second, done, says("meanwhile")}
	log := read(t, s, run.Thread)
	wantBodies(t, "read", log, append([]memory.Body{st("a"), st("b")}, rest...)...)
	var seqs []uint64
	for _, e := range log {
		seqs = append(seqs, e.Seq)
	}
	if diff := cmp.Diff([]uint64{2, 5, 6, 7, 8, 9}, seqs); diff != "" {
		t.Errorf("Seq (-want +got):\n%s", diff)
	}
	putRef(t, s, reacts("f1", "👍"))
	wantBodies(t, "arrived", commit(t, s, run), reacts("f1", "👍"))
	finish(t, s, run, time.Time{})
	rest = append(rest, reacts("f1", "👍"), says("last"))
	wantBodies(t, "log of the next run", claim(t, s, run.Thread, says("last")).Log, rest...)
}

// A file of what came after the word to forget stays with it, whether the run has
// seen that or not; the others are erased.
func forgotKeepsFiles(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	th := thread("files")
	file := func(content string) (memory.Message, string) {
		t.Helper()
		name, err := s.PutBlob(patient(t), th, []byte(content))
		if err != nil {
			t.Fatalf("PutBlob: %v", err)
		}
		m := says(content)
		m.Files = []chat.File{{Name: "f", Blob: name}}
		return m, name
	}
	before, erased := file("before")
	seen, first := file("seen")
	waits, second := file("waits")
	put(t, s, th, before)
	put(t, s, th, says("forget"))
	run := claim(t, s, th, seen)
	put(t, s, th, waits)
	commit(t, s, run, memory.Forgot{By: ada, Before: 3})
	for name, want := range map[string]error{erased: memory.ErrNoBlob, first: nil, second: nil} {
		if _, err := s.Blob(patient(t), th, name); !errors.Is(err, want) {
			t.Errorf("Blob: %v, want %v", err, want)
		}
	}
	commit(t, s, run, memory.Forgot{By: ada, Before: 100})
	for _, name := range []string{first, second} {
		if _, err := s.Blob(patient(t), th, name); !errors.Is(err, memory.ErrNoBlob) {
			t.Errorf("Blob once all is forgotten: %v, want %v", err, memory.ErrNoBlob)
		}
	}
}

// A reader sees the log and, at its end, what still waits, and changes nothing.
func readWithInbox(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	wantBodies(t, "read of a thread that there is not", read(t, s, thread("none")))
	th := thread("read")
	put(t, s, th, says("one"))
	log := read(t, s, th)
	wantBodies(t, "read before the claim", log, says("one"))
	if log[0].Seq != 0 {
		t.Errorf("what waits has Seq %d, want 0", log[0].Seq)
	}
	run := next(t, s)
	commit(t, s, run, memory.Opened{Turn: 1})
	put(t, s, th, says("two"))
	log = read(t, s, th)
	wantBodies(t, "read while held", log, says("one"), memory.Opened{Turn: 1}, says("two"))
	if log[0].Seq != 1 || log[1].Seq != 2 || log[2].Seq != 0 {
		t.Errorf("Seq %d, %d and %d, want 1, 2 and 0", log[0].Seq, log[1].Seq, log[2].Seq)
	}
	wantBodies(t, "arrived", commit(t, s, run), says("two"))
}

// Approvals are listed from the commit of their message to that of their
// decision, by platform.
func pending(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	list := func(p string) []memory.PendingApproval {
		t.Helper()
		return collect(t, s.Pending(patient(t), p))
	}
	a := claim(t, s, thread("a"), says("one"))
	commit(t, s, a, posted(memory.AskName("1.1"), "ask1"), posted("steps/1", "s1"), posted(memory.AskName("1.2"), "ask2"))
	b := claim(t, s, thread("b"), says("one"))
	commit(t, s, b, posted(memory.AskName("1 é 1"), "ask3"))
	want := []memory.PendingApproval{
		{Thread: a.Thread, Call: "1.1", Ref: ref("ask1")},
		{Thread: a.Thread, Call: "1.2", Ref: ref("ask2")},
		{Thread: b.Thread, Call: "1 é 1", Ref: ref("ask3")},
	}
	byRef := cmpopts.SortSlices(func(x, y memory.PendingApproval) bool { return x.Ref.ID < y.Ref.ID })
	if diff := cmp.Diff(want, list(platform), byRef); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if got := list("discord"); len(got) != 0 {
		t.Errorf("pending on another platform: %v", got)
	}
	commit(t, s, a, memory.Decided{Call: "1.1", Outcome: chat.Approved})
	want[1].Due = a.Now.Add(time.Hour)
	finish(t, s, a, want[1].Due)
	commit(t, s, b, memory.Decided{Call: "1 é 1", Outcome: chat.Expired})
	if diff := cmp.Diff(want[1:2], list(platform)); diff != "" {
		t.Errorf("pending after decisions (-want +got):\n%s", diff)
	}
}

// Each thread that was touched is listed with its latest message.
func watermarks(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	list := func(p string, since time.Time, most ...int) []memory.Watermark {
		t.Helper()
		return collect(t, s.Watermarks(patient(t), p, since, append(most, 0)[0]))
	}
	sent := wrote("", "").Sent
	later := wrote("m2", "two")
	later.Sent = sent.Add(time.Minute)
	a := claim(t, s, thread("a"), wrote("m1", "one"))
	put(t, s, a.Thread, later)
	commit(t, s, a, posted("steps/1", "s1"))
	finish(t, s, a, time.Time{})
	finish(t, s, claim(t, s, thread("b"), wrote("m3", "three")), time.Time{})
	finish(t, s, claim(t, s, thread("c"), says("no reference")), time.Time{})
	want := []memory.Watermark{
		{Thread: a.Thread, Last: ref("m2"), Sent: later.Sent},
		{Thread: thread("b"), Last: ref("m3"), Sent: sent},
	}
	byRef := cmpopts.SortSlices(func(x, y memory.Watermark) bool { return x.Thread.Root < y.Thread.Root })
	for _, since := range []time.Time{{}, a.Log[0].At.Add(-time.Hour)} {
		if diff := cmp.Diff(want, list(platform, since), byRef); diff != "" {
			t.Errorf("watermarks since %v (-want +got):\n%s", since, diff)
		}
	}
	last := wrote("m4", "four")
	last.Sent = sent.Add(time.Hour)
	put(t, s, a.Thread, last)
	want[0] = memory.Watermark{Thread: a.Thread, Last: ref("m4"), Sent: last.Sent}
	for most, want := range map[int][]memory.Watermark{0: want, 1: want[:1], 3: want} { // of three threads one has no message that can be named
		if diff := cmp.Diff(want, list(platform, time.Time{}, most), byRef); diff != "" {
			t.Errorf("watermarks of the %d threads that were touched last (-want +got):\n%s", most, diff)
		}
	}
	put(t, s, thread("c"), says("still none"))
	if diff := cmp.Diff(want, list(platform, time.Time{}, 2), byRef); diff != "" {
		t.Errorf("watermarks, where the thread that was touched last has none (-want +got):\n%s", diff)
	}
	if got := list(platform, a.Log[0].At.Add(time.Hour)); len(got) != 0 {
		t.Errorf("watermarks of the future: %v", got)
	}
	if got := list("discord", time.Time{}); len(got) != 0 {
		t.Errorf("watermarks of another platform: %v", got)
	}
}

// Files are kept by content, up to a size, for their own thread alone.
func blobs(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	ctx, th := patient(t), thread("blobs")
	for _, data := range [][]byte{[]byte("one"), {}, []byte("\x00\xff\r\n"), bytes.Repeat([]byte("x"), 1<<20)} {
		name, err := s.PutBlob(ctx, th, data)
		if err != nil || name == "" {
			t.Fatalf("PutBlob = %q, %v", name, err)
		}
		again, err := s.PutBlob(ctx, th, data)
		if err != nil || again != name {
			t.Errorf("PutBlob again = %q, %v, want %q", again, err, name)
		}
		got, err := s.Blob(ctx, th, name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("Blob = %d bytes, %v, want %d bytes", len(got), err, len(data))
		}
		if _, err := s.Blob(ctx, thread("other"), name); !errors.Is(err, memory.ErrNoBlob) {
			t.Errorf("Blob from another thread: %v, want %v", err, memory.ErrNoBlob)
		}
	}
	one, _ := s.PutBlob(ctx, th, []byte("one"))
	two, _ := s.PutBlob(ctx, th, []byte("two"))
	if one == two {
		t.Errorf("two contents have the name %q", one)
	}
	if _, err := s.Blob(ctx, th, "no such name"); !errors.Is(err, memory.ErrNoBlob) {
		t.Errorf("Blob: %v, want %v", err, memory.ErrNoBlob)
	}
	if _, err := s.PutBlob(ctx, th, make([]byte, memory.BlobCap+1)); err == nil {
		t.Error("PutBlob of more than BlobCap: no error")
	}
	wantNone(t, s, platform)
}

// Counters add up, each by itself, until their time is over.
func counters(t *testing.T, open Open) {
	s := open(t, Options{}).Store
	count := func(name string, n int64, ttl time.Duration, want int64) {
		t.Helper()
		got, err := s.Count(patient(t), name, n, ttl)
		if err != nil || got != want {
			t.Errorf("Count(%q, %d) = %d, %v, want %d", name, n, got, err, want)
		}
	}
	count("a", 0, time.Hour, 0)
	count("a", 5, time.Hour, 5)
	count("a", 1<<40, time.Hour, 1<<40+5)
	count("b/ä", 1, time.Hour, 1)
	count("a", -5, time.Hour, 1<<40)
	count("a", 0, time.Hour, 1<<40)
	count("short", 0, time.Hour, 0) // reading begins nothing
	short, added := "", int64(0)
	for ttl := soon; added != 2; ttl *= 2 { // on a slow machine its time may be over before more is added
		short = "short" + ttl.String()
		count(short, 1, ttl, 1)
		var err error
		if added, err = s.Count(patient(t), short, 1, time.Hour); err != nil { // and adding prolongs nothing
			t.Fatalf("Count: %v", err)
		}
	}
	eventually(t, "the counter is gone", func() bool {
		n, err := s.Count(patient(t), short, 0, time.Hour)
		return err == nil && n == 0
	})
}
