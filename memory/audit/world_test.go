package audit

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

var quiet = slog.New(slog.DiscardHandler)

func testKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte("a key of thirty-two bytes, no more"[:32]))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey {
	p, _ := k.Public().(ed25519.PublicKey)
	return p
}

// world is a store, and a way to put other lines in it than it wrote.
type world struct {
	memory.Full
	write func(t testing.TB, lines []memory.KeptLine, heads map[string]memory.Head)
}

// direct says that channel cD is a conversation with one person.
func direct(t chat.ThreadID) bool { return t.Channel == "cD" }

var stores = map[string]func(testing.TB, time.Duration) world{"sqlite": openSQLiteFor, "redis": openRedisFor}

func openSQLite(t *testing.T) world { return openSQLiteFor(t, 0) }
func openRedis(t *testing.T) world  { return openRedisFor(t, 0) }

func openSQLiteFor(t testing.TB, keep time.Duration) world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nod.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Direct: direct, Keep: keep, SweepEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=synchronous(OFF)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = db.Close()
		_ = s.Close()
	})
	return world{s, func(t testing.TB, lines []memory.KeptLine, heads map[string]memory.Head) {
		t.Helper()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		do := func(query string, args ...any) {
			if _, err := tx.Exec(query, args...); err != nil {
				t.Fatal(err)
			}
		}
		do("DELETE FROM audit")
		do("DELETE FROM chain")
		for _, l := range lines {
			do("INSERT INTO audit (thread, line, text) VALUES (?, ?, ?)", l.Thread, l.Raw, l.Text)
		}
		for thread, h := range heads {
			do("INSERT INTO chain (thread, seq, hash) VALUES (?, ?, ?)", thread, h.Seq, h.Hash)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}}
}

func openRedisFor(t testing.TB, keep time.Duration) world {
	t.Helper()
	server := redistest.Start(t)
	s, err := redis.Open(t.Context(), server.URL(), redis.Options{Logger: quiet, Direct: direct, Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := server.Client(t)
	return world{s, func(t testing.TB, lines []memory.KeptLine, heads map[string]memory.Head) {
		t.Helper()
		p := c.Pipeline()
		for shard := range 8 {
			p.Del(t.Context(), fmt.Sprintf("{nod:%d}:audit", shard), fmt.Sprintf("{nod:%d}:heads", shard))
		}
		// All in one shard: which one does not matter to who reads them all.
		for i, l := range lines {
			p.Do(t.Context(), "XADD", "{nod:1}:audit", strconv.Itoa(i+1)+"-1", "line", string(l.Raw))
		}
		for thread, h := range heads {
			p.HSet(t.Context(), "{nod:1}:heads", thread, h.String())
		}
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}
}

var ada, ben = chat.User{ID: "U1", Name: "ada"}, chat.User{ID: "U2", Name: "ben"}

// happens has a call asked for, voted on, approved and run in a thread.
func (w world) happens(t testing.TB, root string, n int) {
	t.Helper()
	ctx := t.Context()
	th := chat.ThreadID{Platform: "test", Channel: "c" + root, Root: root}
	say := memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "test", Channel: th.Channel, ID: strconv.Itoa(n)}, From: ada, Text: "go"}}
	if _, err := w.Put(ctx, th, say); err != nil {
		t.Fatal(err)
	}
	run, err := w.Next(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	call := fmt.Sprintf("%d-1", n)
	steps := [][]memory.Body{
		{memory.Asked{Call: call, Tool: "deploy", Digest: "ab", Requester: ada, Rules: memory.Rules{Approvers: []string{"anyone"}, Quorum: 1}}},
		{memory.Vote{Call: call, By: ben, Verdict: memory.Approve, Counts: true}, memory.Decided{Call: call, Outcome: chat.Approved, By: []chat.User{ben}}},
		{memory.Started{Call: call, Tool: "deploy", Digest: "ab"}},
		{memory.Result{Call: call, Tool: "deploy", State: chat.CallDone, Text: "done", Reason: "na\u00efve \u2028 \"quotes\" \\ \x01"}},
	}
	for _, bodies := range steps {
		if _, err := w.Commit(ctx, run, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(ctx, run, time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// keeper signs the store.
func (w world) keeper(t *testing.T, file string) *Keeper {
	t.Helper()
	k := &Keeper{Store: w, Key: testKey(), File: file, Log: quiet}
	if err := k.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

func (w world) lines(t *testing.T) (out []memory.KeptLine) {
	t.Helper()
	for l, err := range w.Lines(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Thread == "" {
			line, _ := memory.DecodeLine(l.Raw)
			l.Thread = line.Thread.String()
		}
		out = append(out, l)
	}
	return out
}
