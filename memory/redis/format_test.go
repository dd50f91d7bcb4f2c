package redis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
)

// former starts a server with what the first format's last build left: an approval
// that waits, a turn that ended, a thread that was forgotten, one that was cut
// off, and one that nobody looked at.
func former(t *testing.T) *redistest.Server { return recorded(t, "format1.jsonl") }

// recorded starts a server with what an earlier build left there. What is of format
// 2 is that of format 1 as the last build of format 2 left it, with two more
// approved calls.
func recorded(t *testing.T, name string) *redistest.Server {
	t.Helper()
	server := redistest.Start(t)
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	c := server.Client(t)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var args []any
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			t.Fatalf("read line: %v", err)
		}
		if err := c.Do(within(t), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args[:2], err)
		}
	}
	return server
}

func formerThread(root string) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: "T1/C" + root[:1], Root: root}
}

// contents gives everything that a server has.
func contents(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	c := s.Client(t)
	keys, err := c.Keys(within(t), "*").Result()
	if err != nil {
		t.Fatalf("list keys: %v", err)
	}
	out := map[string]string{}
	for _, k := range keys {
		if out[k], err = c.Dump(within(t), k).Result(); err != nil {
			t.Fatalf("dump %s: %v", k, err)
		}
	}
	return out
}

func kinds(log []memory.Entry) (out []string) {
	for _, e := range log {
		out = append(out, e.Body.Kind())
	}
	return out
}

// A store of the first format is brought up to date, and every thread goes on.
func TestFormerFormat(t *testing.T) {
	t.Parallel()
	server := former(t)
	v, err := View(t.Context(), server.URL(), Options{})
	if err != nil || v.Format != 1 {
		t.Fatalf("View: format %d, %v, want 1", v.Format, err)
	}
	defer func() { _ = v.Close() }()
	s := openStore(t, server.URL(), Options{Lease: time.Second, Quota: memory.Quota{Thread: 30}})
	if v, err := s.oldest(t.Context()); v != thisFormat || err != nil {
		t.Errorf("format %d, %v, want this one", v, err)
	}
	asks, done, forgotten := formerThread("1.asks"), formerThread("2.done"), formerThread("3.forgot")
	if fresh, err := s.Put(within(t), asks, text("deploy web, please"), "slack/m1"); fresh || err != nil {
		t.Errorf("Put of a former event = %v, %v, want not fresh", fresh, err)
	}
	claimed := map[string][]string{}
	for range 2 {
		run := mustClaim(t, s)
		mustCommit(t, s, run, memory.Ended{Turn: 1})
		claimed[run.Thread.Root] = kinds(run.Log)
		if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
			t.Errorf("Finish: %v", err)
		}
		wantLog(t, s, run)
	}
	if diff := cmp.Diff(map[string][]string{
		"4.cut": {"message", "opened", "message", "ended"},
		"5.new": {"message", "ended"},
	}, claimed); diff != "" {
		t.Errorf("what was to be done (-want +got):\n%s", diff)
	}

	on := chat.MessageRef{Platform: "slack", Channel: asks.Channel, ID: "a1"}
	vote := memory.Reaction{Reaction: chat.Reaction{On: on, By: chat.User{ID: "U1"}, Emoji: "white_check_mark"}}
	if fresh, err := s.PutRef(within(t), on, vote); !fresh || err != nil {
		t.Fatalf("PutRef = %v, %v", fresh, err)
	}
	run := mustClaim(t, s)
	if diff := cmp.Diff([]string{"message", "opened", "step", "asked", "posted", "posted", "reaction"}, kinds(run.Log)); diff != "" {
		t.Errorf("log of the approval (-want +got):\n%s", diff)
	}
	mustCommit(t, s, run, memory.Decided{Call: "1-1-1", Outcome: chat.Approved})
	for p, err := range s.Pending(within(t), "slack") {
		t.Errorf("still pending: %v, %v", p, err)
	}

	formerFiles(t, s, done)
	log, err := s.Read(within(t), forgotten)
	if err != nil || len(log) != 1 || log[0].Seq != 2 || log[0].Body.Kind() != "started" {
		t.Errorf("Read of what was forgotten = %v, %v", log, err)
	}
	lines := 0
	for _, err := range s.Audit(within(t), done) {
		if err != nil {
			t.Fatalf("Audit: %v", err)
		}
		lines++
	}
	if lines != 4 {
		t.Errorf("%d audit lines of the turn that ended, want 4", lines)
	}
}

// A former file is there under its name, counts, and makes room.
func formerFiles(t *testing.T, s *Store, th chat.ThreadID) {
	t.Helper()
	const name = "54f51b6731478815b9635a612ff24ac0"
	if data, err := s.Blob(within(t), th, name); err != nil || string(data) != "the content of a file" {
		t.Errorf("Blob = %q, %v", data, err)
	}
	var full memory.FullError
	if _, err := s.PutBlob(within(t), th, make([]byte, 10)); !errors.As(err, &full) {
		t.Errorf("PutBlob of 10 bytes beside 21 of 30: %v, want that it is full", err)
	}
	if err := s.DropBlob(within(t), th, name); err != nil {
		t.Errorf("DropBlob: %v", err)
	}
	if _, err := s.PutBlob(within(t), th, make([]byte, 30)); err != nil {
		t.Errorf("PutBlob of 30 bytes: %v", err)
	}
}

// auditOf reads the audit log, as it is and as the lines are kept.
func auditOf(t *testing.T, a memory.Auditor) (lines []memory.AuditLine, kept []string) {
	t.Helper()
	for l, err := range a.Audit(within(t), chat.ThreadID{}) {
		if err != nil {
			t.Fatalf("Audit: %v", err)
		}
		lines = append(lines, l)
	}
	for k, err := range a.Lines(within(t)) {
		if err != nil {
			t.Fatalf("Lines: %v", err)
		}
		kept = append(kept, string(k.Raw))
	}
	return lines, kept
}

// The audit log of an earlier format becomes sound chains, whatever is cut off on
// the way, and although a build of that format writes to it meanwhile. Before that
// it is read as it will be.
func TestFormerAuditIsChained(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]int{"format1.jsonl": 6, "format2.jsonl": 18} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := recorded(t, name)
			v, err := View(t.Context(), server.URL(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = v.Close() }()
			before, kept := auditOf(t, v)
			if len(before) != lines {
				t.Errorf("%d lines, want %d", len(before), lines)
			}
			if _, err := v.Heads(within(t)); err == nil {
				t.Error("there are ends of chains before there are chains")
			}
			// A process that died, then another build's line, then this process.
			if v.Format == 2 {
				late := []any{"at", "1895323216010", "line", `{"at":"0001-01-01T00:00:00Z","thread":"slack/T1%2FC4/4.cut","seq":9,"event":"vote","call":"9-1-1","verdict":"deny"}`}
				shard := shardOfThread(formerThread("4.cut"))
				if _, err := v.chainShard(within(t), shard); err != nil {
					t.Fatal(err)
				}
				if err := v.cmd.Do(within(t), append([]any{"XADD", v.keys.own(shard, "audit"), "*"}, late...)...).Err(); err != nil {
					t.Fatal(err)
				}
				before, kept = auditOf(t, v)
			}
			s := openStore(t, server.URL(), Options{})
			after, now := auditOf(t, s)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("audit log (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(kept, now); diff != "" {
				t.Errorf("kept lines (-before +after):\n%s", diff)
			}
			ends := map[chat.ThreadID]memory.Head{}
			for _, raw := range now {
				l, sound := memory.ReadLine([]byte(raw))
				if end := ends[l.Thread]; !sound || l.Seq != end.Seq+1 || l.Prev != end.Hash {
					t.Errorf("line %s does not follow %v", raw, end)
				}
				ends[l.Thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
			}
			if heads, err := s.Heads(within(t)); err != nil || !cmp.Equal(ends, heads) {
				t.Errorf("ends of the chains: %v, %v, want %v", heads, err, ends)
			}
		})
	}
}

// Looking at a store of an older format, or of this one, changes nothing in it.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	server := former(t)
	look := func(t *testing.T) {
		t.Helper()
		before := contents(t, server)
		v, err := View(within(t), server.URL(), Options{})
		if err != nil {
			t.Fatalf("View: %v", err)
		}
		for _, root := range []string{"1.asks", "2.done", "3.forgot", "4.cut", "5.new"} {
			log, err := v.Read(within(t), formerThread(root))
			if err != nil || len(log) == 0 {
				t.Errorf("Read of %s = %v, %v", root, log, err)
			}
			if _, err := v.Tail(within(t), formerThread(root), 0); err != nil {
				t.Errorf("Tail: %v", err)
			}
		}
		lines, pending := 0, 0
		for _, err := range v.Audit(within(t), chat.ThreadID{}) {
			if err != nil {
				t.Errorf("Audit: %v", err)
			}
			lines++
		}
		for _, err := range v.Pending(within(t), "slack") {
			if err != nil {
				t.Errorf("Pending: %v", err)
			}
			pending++
		}
		if lines != 6 || pending != 1 {
			t.Errorf("%d audit lines and %d approvals, want 6 and 1", lines, pending)
		}
		if _, err := v.Blob(within(t), formerThread("2.done"), "54f51b6731478815b9635a612ff24ac0"); err != nil {
			t.Errorf("Blob: %v", err)
		}
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if _, err := Check(within(t), server.URL(), Options{}); err != nil {
			t.Errorf("Check: %v", err)
		}
		if diff := cmp.Diff(before, contents(t, server)); diff != "" {
			t.Errorf("it changed (-before +after):\n%s", diff)
		}
	}
	look(t)
	lines, err := Check(within(t), server.URL(), Options{})
	if err != nil || len(lines) != 1 {
		t.Errorf("Check = %q, %v, want a line about the format", lines, err)
	}
	if err := openStore(t, server.URL(), Options{}).Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	look(t)
}

// Steps follow each other, each is done again where it was cut off, and a store
// of a later format is refused before anything is changed.
func TestFormatsFollowEachOther(t *testing.T) {
	t.Parallel()
	server := former(t)
	a, err := parseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := a.link(Options{})
	defer func() { _ = l.cmd.Close() }()
	killed := errors.New("killed")
	calls, dieAt := 0, 0
	step := func(next upgrade) upgrade {
		return func(ctx context.Context, l *link, shards []int) error {
			if calls++; calls == dieAt {
				_ = next(ctx, l, shards[:1])
				return killed
			}
			return next(ctx, l, shards)
		}
	}
	fourth := func(ctx context.Context, l *link, shards []int) error {
		for _, s := range shards {
			if err := l.cmd.SetNX(ctx, l.keys.own(s, "fourth"), "made", 0).Err(); err != nil {
				return err
			}
		}
		return nil
	}
	all := []upgrade{step(weighFiles), step(chainAudit), step(fourth)}
	for dieAt = 1; dieAt <= 5; dieAt += 2 { // in each step, which is then done again
		if err := l.bringUpToDate(within(t), everyShard(), all); !errors.Is(err, killed) {
			t.Fatalf("killed: %v", err)
		}
	}
	dieAt = 0
	if err := l.bringUpToDate(within(t), everyShard(), all); err != nil {
		t.Fatalf("bring up to date: %v", err)
	}
	for shard := range shards {
		format, err := l.formatOf(within(t), shard)
		made := l.cmd.Get(within(t), l.keys.own(shard, "fourth")).Val()
		if err != nil || format != 4 || made != "made" {
			t.Errorf("shard %d has format %d (%v) and %q", shard, format, err, made)
		}
	}
	if n := l.cmd.Get(within(t), l.keys.own(6, "bytes")).Val(); n != "21" {
		t.Errorf("%s bytes of files, want 21", n)
	}

	before := contents(t, server)
	want := memory.FormatError{Have: 4, Reads: 3}
	for what, open := range map[string]func() error{
		"Open":  func() error { _, err := Open(within(t), server.URL(), Options{Logger: quiet}); return err },
		"View":  func() error { _, err := View(within(t), server.URL(), Options{}); return err },
		"Check": func() error { _, err := Check(within(t), server.URL(), Options{}); return err },
	} {
		if err := open(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if diff := cmp.Diff(before, contents(t, server)); diff != "" {
		t.Errorf("it changed (-before +after):\n%s", diff)
	}
	if got := len(steps()) + 1; got != thisFormat {
		t.Errorf("the steps lead to format %d, and this build reads %d", got, thisFormat)
	}
}

// A store that another build brought to a later format while it was open takes
// no more, and changes nothing.
func TestLaterFormatWhileOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	for shard := range shards {
		if err := s.cmd.Set(within(t), s.keys.own(shard, "format"), 4, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(within(t), someThread, text("two")); !errors.Is(err, memory.FormatError{Have: 4, Reads: 3}) {
		t.Errorf("Put: %v, want that the format is a later one", err)
	}
}
