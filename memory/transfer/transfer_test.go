package transfer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
	"nod/memory/transfer"
)

// place is where a store is.
type place struct{ name string }

func inFile(t *testing.T) place { return place{filepath.Join(t.TempDir(), "nod.db")} }

func onServer(t *testing.T) place { return place{redistest.Start(t).URL()} }

func (p place) serve(ctx context.Context) (memory.Full, error) {
	if strings.Contains(p.name, "://") {
		return redis.Open(ctx, p.name, redis.Options{})
	}
	return sqlite.Open(ctx, p.name, sqlite.Options{Wait: time.Minute})
}

func (p place) carry(ctx context.Context) (memory.Portable, error) {
	if strings.Contains(p.name, "://") {
		return redis.Portable(ctx, p.name, redis.Options{})
	}
	return sqlite.Portable(ctx, p.name)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func thread(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: fmt.Sprint("T1/C", i%7), Root: fmt.Sprint(i)}
}

func ref(channel, id string) chat.MessageRef {
	return chat.MessageRef{Platform: "slack", Channel: channel, ID: id}
}

// fill writes threads in all states: parked, waiting for a run, held, forgotten, trimmed.
func fill(t *testing.T, s memory.Full, n int) {
	t.Helper()
	ctx := t.Context()
	for i := range n {
		th := thread(i)
		m := memory.Message{Message: chat.Message{
			Ref: ref(th.Channel, fmt.Sprint("m", i)), From: chat.User{ID: "U1"}, Text: "hi", Sent: time.Now().Truncate(time.Microsecond),
		}}
		must[bool](t)(s.Put(ctx, th, m, fmt.Sprint("e", i)))
		run := must[*memory.Run](t)(s.Next(ctx, "slack"))
		card := ref(th.Channel, fmt.Sprint("card", i))
		if i%3 == 0 {
			card = ref("T1/CARDS", fmt.Sprint("card", i))
			if err := s.Refer(ctx, card, th); err != nil {
				t.Fatal(err)
			}
		}
		bodies := []memory.Body{
			memory.Opened{Turn: 1, Requester: chat.User{ID: "U1"}},
			memory.Started{Call: "0"},
			memory.Asked{Call: "1", Tool: "t", Number: 1, Requester: chat.User{ID: "U1"}},
			memory.Posted{Key: memory.PostKey(memory.AskName("1"), "x"), Ref: card},
		}
		if i%5 == 0 {
			bodies = append(bodies, memory.Forgot{Before: 4})
		}
		switch i % 4 {
		case 0, 1:
			must[bool](t)(s.Finish(ctx, run, run.Now.Add(time.Hour), bodies...))
			must[string](t)(s.PutBlob(ctx, th, []byte(fmt.Sprint("file", i))))
		case 2: // it waits for a run, see below
			must[bool](t)(s.Finish(ctx, run, time.Time{}, bodies...))
		default: // its run is cut off
			must[[]memory.Entry](t)(s.Commit(ctx, run, bodies...))
		}
	}
	for i := 2; i < n; i += 4 {
		must[bool](t)(s.Put(ctx, thread(i), memory.Halt{}))
	}
	must[int64](t)(s.Count(ctx, "spent", 7, time.Hour))
	for _, note := range []string{"birth", "digest-key", "page access x"} {
		if err := s.Note(ctx, note, []byte(note)); err != nil {
			t.Fatal(err)
		}
	}
}

// Redis finds the shard of a chain by the person behind its pseudonym, who may be in
// another shard.
func TestPeopleComeBeforeChains(t *testing.T) {
	t.Parallel()
	at := onServer(t)
	s := must[memory.Full](t)(at.serve(t.Context()))
	fill(t, s, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	from := must[memory.Portable](t)(at.carry(t.Context()))
	defer func() { _ = from.Close() }()
	counts := map[string]int{}
	for r, err := range from.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if counts[r.Kind]++; r.Kind == memory.RecordPerson && counts[memory.RecordHead] > 0 {
			t.Fatalf("%s comes after a chain", r.Key)
		}
	}
	if counts[memory.RecordPerson] == 0 || counts[memory.RecordHead] < 7 {
		t.Errorf("records: %v", counts)
	}
}

// seen is all that a process can read of a store.
func seen(t *testing.T, s memory.Full, n int) map[string]any {
	t.Helper()
	out := map[string]any{}
	for i := range n {
		log := must[[]memory.Entry](t)(s.Read(t.Context(), thread(i)))
		out[fmt.Sprint("log ", i)] = log
		tail := must[memory.Tail](t)(s.Tail(t.Context(), thread(i), 0))
		out[fmt.Sprint("tail ", i)] = []any{tail.Last, tail.Log, tail.Inbox}
	}
	pending := map[string]memory.PendingApproval{}
	for p, err := range s.Pending(t.Context(), "slack") {
		if err != nil {
			t.Fatal(err)
		}
		pending[p.Thread.String()] = p
	}
	out["pending"] = pending
	marks := map[string]memory.Watermark{}
	for m, err := range s.Watermarks(t.Context(), "slack", time.Time{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		marks[m.Thread.String()] = m
	}
	out["watermarks"] = marks
	out["heads"] = must[map[string]memory.Head](t)(s.Heads(t.Context()))
	lines := map[chat.ThreadID][]memory.AuditLine{}
	for l, err := range s.Audit(t.Context(), chat.ThreadID{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines[l.Thread] = append(lines[l.Thread], l)
	}
	out["audit"] = lines
	out["spent"] = must[int64](t)(s.Count(t.Context(), "spent", 0, time.Hour))
	out["birth"] = string(must[[]byte](t)(s.Noted(t.Context(), "birth")))
	return out
}

// cut is a store whose process is killed after some calls of Restore.
type cut struct {
	memory.Portable
	left int
}

var errCut = errors.New("killed")

// Restore implements memory.Portable.
func (c *cut) Restore(ctx context.Context, records []memory.Record) error {
	if c.left--; c.left < 0 {
		_ = c.Portable.Restore(ctx, records[:len(records)/2])
		return errCut
	}
	return c.Portable.Restore(ctx, records)
}

// Records implements memory.Portable.
func (c *cut) Records(ctx context.Context) iter.Seq2[memory.Record, error] {
	return c.Portable.Records(ctx)
}

func copyOnce(t *testing.T, from, to place, target func(memory.Portable) memory.Portable) (transfer.Counts, error) {
	t.Helper()
	f, d := must[memory.Portable](t)(from.carry(t.Context())), must[memory.Portable](t)(to.carry(t.Context()))
	defer func() { _ = f.Close(); _ = d.Close() }()
	return transfer.Copy{
		From: f, To: target(d), FromName: from.name, ToName: to.name,
		Skip: func(note string) bool { return strings.HasPrefix(note, "page access ") },
	}.Run(t.Context())
}

func cutAfter(calls int) func(memory.Portable) memory.Portable {
	return func(p memory.Portable) memory.Portable { return &cut{p, calls} }
}

// A copy has all that the store had, though it was cut off twice on the way: logs, files,
// approvals, chains, counters, notes. Events that were delivered before are known, and
// each thread goes on where it was.
func TestCopy(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(*testing.T) place{"sqlite": inFile, "redis": onServer}
	for a, source := range kinds {
		for b, target := range kinds {
			t.Run(a+" to "+b, func(t *testing.T) {
				t.Parallel()
				copies(t, source(t), target(t), 60)
			})
		}
	}
}

func copies(t *testing.T, from, to place, n int) {
	t.Helper()
	want := filled(t, from, n)
	for _, calls := range []int{1, 1} {
		if _, err := copyOnce(t, from, to, cutAfter(calls)); !errors.Is(err, errCut) {
			t.Fatalf("Run: %v, want %v", err, errCut)
		}
	}
	half := must[memory.Portable](t)(to.carry(t.Context()))
	if mark := must[string](t)(transfer.Mark(t.Context(), half)); mark != "copying from "+from.name {
		t.Errorf("the half copy is marked %q", mark)
	}
	_ = half.Close()
	counts := must[transfer.Counts](t)(copyOnce(t, from, to, cutAfter(1<<30)))
	if counts[memory.RecordThread] != n {
		t.Errorf("copied %v, want %d threads", counts, n)
	}
	old := must[memory.Portable](t)(from.carry(t.Context()))
	if mark := must[string](t)(transfer.Mark(t.Context(), old)); mark != "copied to "+to.name {
		t.Errorf("the store is marked %q", mark)
	}
	_ = old.Close()
	isCopy(t, to, n, want)
}

// filled fills a store, and gives all that a process can read of it.
func filled(t *testing.T, p place, n int) map[string]any {
	t.Helper()
	s := must[memory.Full](t)(p.serve(t.Context()))
	fill(t, s, n)
	want := seen(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return want
}

func isCopy(t *testing.T, p place, n int, want map[string]any) {
	t.Helper()
	c := must[memory.Full](t)(p.serve(t.Context()))
	defer func() { _ = c.Close() }()
	if mark := must[string](t)(transfer.Mark(t.Context(), c)); mark != "" {
		t.Errorf("the copy is marked %q", mark)
	}
	if diff := cmp.Diff(want, seen(t, c, n)); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	if raw := must[[]byte](t)(c.Noted(t.Context(), "page access x")); raw != nil {
		t.Errorf("page access was copied: %q", raw)
	}
	goesOn(t, c, n)
}

// goesOn uses a copy as a service does.
func goesOn(t *testing.T, c memory.Full, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range n {
		if must[bool](t)(c.Put(ctx, thread(i), memory.Halt{}, fmt.Sprint("e", i))) {
			t.Errorf("event %d is taken twice", i)
		}
	}
	if string(must[[]byte](t)(c.Blob(ctx, thread(0), nameOf("file0")))) != "file0" {
		t.Error("a file is another one")
	}
	want := map[chat.ThreadID]bool{}
	for i := range n {
		if i%4 >= 2 {
			want[thread(i)] = true
		}
	}
	for len(want) > 0 {
		run, err := c.Next(ctx, "slack")
		if err != nil {
			t.Fatalf("Next: %v, and %d threads wait: %v", err, len(want), want)
		}
		if !want[run.Thread] {
			t.Errorf("claimed %v, want what waits for a run", run.Thread)
		}
		delete(want, run.Thread)
		if len(run.Log) > 0 && run.Claimed <= run.Log[len(run.Log)-1].Seq && run.Log[len(run.Log)-1].Body == (memory.Halt{}) {
			t.Errorf("%v: an earlier process may have acted on the inbox", run.Thread)
		}
		if _, err := c.Finish(ctx, run, time.Time{}, memory.Decided{Call: "1", Outcome: chat.Expired}); err != nil {
			t.Error(err)
		}
	}
	for _, i := range []int{3, 1} { // a card of another channel, and one of its own
		card := ref(thread(i).Channel, fmt.Sprint("card", i))
		if i%3 == 0 {
			card = ref("T1/CARDS", fmt.Sprint("card", i))
		}
		must[bool](t)(c.PutRef(ctx, card, memory.Reaction{}, fmt.Sprint("vote", i)))
		run, err := c.Next(ctx, "slack")
		if err != nil || run.Thread != thread(i) {
			t.Fatalf("a vote on the card of thread %d went to %v, %v", i, run, err)
		}
	}
}

func nameOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}
