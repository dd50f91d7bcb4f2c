package redis

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/internal/redistest"
	"nod/memory"
)

// lossy starts a server that comes back with what it had when it was saved.
func lossy(t *testing.T) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "--appendonly", "no")
}

func lossyURL(s *redistest.Server) string { return s.URL() + "?durable=no" }

// save has the server keep what it has now.
func save(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := s.Client(t).Save(within(t)).Err(); err != nil {
		t.Fatalf("save: %v", err)
	}
}

// messages collects what a store logs.
type messages struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buf.Write(p)
}

func (m *messages) has(t *testing.T, want string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(m.buf.String(), want) {
		t.Errorf("logged %q, want %q", m.buf.String(), want)
	}
}

func mustCommit(t *testing.T, s *Store, run *memory.Run, bodies ...memory.Body) {
	t.Helper()
	if _, err := s.Commit(within(t), run, bodies...); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

// wantLog checks that a thread's log is what a run thinks.
func wantLog(t *testing.T, s *Store, run *memory.Run) {
	t.Helper()
	log, err := s.Read(within(t), run.Thread)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if diff := cmp.Diff(run.Log, log); diff != "" {
		t.Errorf("the log is not what the run thinks (-run +log):\n%s", diff)
	}
}

// A server that comes back without a claim gives the thread to another process.
// No two processes write to one history, whoever is first, and both take no step
// that the log does not hold.
func TestNoTwoHistories(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the older", "the newer"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			server := lossy(t)
			o := Options{Logger: quiet, Lease: time.Minute}
			a, b := openStore(t, lossyURL(server), o), openStore(t, lossyURL(server), o)
			mustPut(t, a, text("deploy web"))
			save(t, server)
			old := mustClaim(t, a)
			server.Restart(t)
			crashBeats(a)
			run := mustClaim(t, b)
			if old.Token == run.Token {
				t.Errorf("two claims have the token %q", run.Token)
			}
			step := func(by string) memory.Body { return memory.Step{Turn: 1, N: 1, Thought: by} }
			var errA, errB error
			if first == "the older" {
				_, errA = a.Commit(within(t), old, step("a"))
				_, errB = b.Commit(within(t), run, step("b"))
			} else {
				_, errB = b.Commit(within(t), run, step("b"))
				_, errA = a.Commit(within(t), old, step("a"))
			}
			if !errors.Is(errA, memory.ErrFenced) || errB != nil {
				t.Errorf("commits: %v and %v, want only the newer taken", errA, errB)
			}
			if _, err := a.Commit(within(t), old, memory.Started{Call: "1"}); !errors.Is(err, memory.ErrFenced) {
				t.Errorf("the older commits on: %v, want %v", err, memory.ErrFenced)
			}
			mustCommit(t, b, run, memory.Started{Call: "1"})
			wantLog(t, b, run)
		})
	}
}

// crashBeats keeps a store from putting back by itself what the server lost.
func crashBeats(s *Store) { s.stop() }

// A run whose commits the server lost, and that nobody else continued, restores them,
// logs that, and goes on.
func TestWhatIsLostIsPutBack(t *testing.T) {
	t.Parallel()
	asked := []memory.Body{
		memory.Asked{Call: "1.1", Tool: "deploy"},
		memory.Started{Call: "1.0"},
		posted("ask/1.1", "ask1"),
	}
	for _, c := range []struct {
		name  string
		saved func(t *testing.T, s *Store, server *redistest.Server) *memory.Run
	}{
		{"before its commits", func(t *testing.T, s *Store, server *redistest.Server) *memory.Run {
			mustPut(t, s, text("one"))
			run := mustClaim(t, s)
			save(t, server)
			return run
		}},
		{"between its commits", func(t *testing.T, s *Store, server *redistest.Server) *memory.Run {
			mustPut(t, s, text("one"))
			run := mustClaim(t, s)
			mustCommit(t, s, run, memory.Opened{Turn: 1})
			mustPut(t, s, text("two"))
			save(t, server)
			return run
		}},
		{"before its claim", func(t *testing.T, s *Store, server *redistest.Server) *memory.Run {
			mustPut(t, s, text("one"))
			save(t, server)
			return mustClaim(t, s)
		}},
		{"before its thread", func(t *testing.T, s *Store, server *redistest.Server) *memory.Run {
			save(t, server)
			mustPut(t, s, text("one"))
			return mustClaim(t, s)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, logged := lossy(t), &messages{}
			s := openStore(t, lossyURL(server), Options{Logger: slog.New(slog.NewTextHandler(logged, nil)), Lease: time.Minute})
			run := c.saved(t, s, server)
			mustCommit(t, s, run, memory.Opened{Turn: 9})
			mustPut(t, s, text("three"))
			mustCommit(t, s, run)
			mustCommit(t, s, run, asked...)
			server.Restart(t)
			mustCommit(t, s, run, memory.Seen{Message: 1})
			wantLog(t, s, run)
			logged.has(t, "level=ERROR")
			var pending []memory.PendingApproval
			for p, err := range s.Pending(within(t), "slack") {
				if err != nil {
					t.Fatalf("Pending: %v", err)
				}
				pending = append(pending, p)
			}
			if len(pending) != 1 {
				t.Errorf("pending: %v, want the approval that was lost", pending)
			}
			if more, err := s.Finish(within(t), run, time.Time{}); more || err != nil {
				t.Errorf("Finish = %v, %v", more, err)
			}
			wantLog(t, s, run)
		})
	}
}

// If the server lost a finished run, its process restores it at the next write to that
// thread, or sooner.
func TestFinishedAndLost(t *testing.T) {
	t.Parallel()
	server := lossy(t)
	s := openStore(t, lossyURL(server), Options{Logger: quiet, Lease: time.Second})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	mustCommit(t, s, run, memory.Opened{Turn: 1})
	save(t, server)
	mustCommit(t, s, run, memory.Step{Turn: 1, Answer: "done"}, memory.Ended{Turn: 1})
	if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	server.Restart(t)
	again := mustClaim(t, s) // since it was held when the server was saved
	if diff := cmp.Diff(run.Log, again.Log); diff != "" {
		t.Errorf("claimed (-before +after):\n%s", diff)
	}
	wantLog(t, s, again)
}

// A log that somebody else went on with is not touched.
func TestNothingIsPutBackOverOthers(t *testing.T) {
	t.Parallel()
	server := lossy(t)
	o := Options{Logger: quiet, Lease: time.Second}
	a, b := openStore(t, lossyURL(server), o), openStore(t, lossyURL(server), o)
	mustPut(t, a, text("one"))
	old := mustClaim(t, a)
	mustCommit(t, a, old, memory.Opened{Turn: 1})
	save(t, server)
	mustCommit(t, a, old, memory.Step{Turn: 1, Thought: "lost"})
	crashBeats(a)
	server.Restart(t)
	run := mustClaim(t, b)
	mustCommit(t, b, run, memory.Step{Turn: 1, Thought: "kept"})
	if _, err := a.Commit(within(t), old, memory.Started{Call: "1"}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want %v", err, memory.ErrFenced)
	}
	wantLog(t, b, run)
}

// A new process finds the threads of which a server forgot to hand them out.
func TestForgottenThreadsAreFound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet, Lease: time.Second})
	shard, name := shardOfThread(someThread), someThread.String()
	for what, forget := range map[string]func(context.Context) error{
		"its lease": func(ctx context.Context) error { return s.cmd.ZRem(ctx, s.keys.own(shard, "due"), name).Err() },
		"its place": func(ctx context.Context) error {
			return errors.Join(s.cmd.ZRem(ctx, s.keys.own(shard, "due"), name).Err(),
				s.cmd.XTrimMaxLen(ctx, s.keys.key(shard, "q", "slack"), 0).Err())
		},
		"its deadline": func(ctx context.Context) error {
			err := s.cmd.HSet(ctx, s.keys.key(shard, "t", name), "s", "", "w", time.Now().Add(-time.Second).UnixMilli()).Err()
			return errors.Join(err, s.cmd.ZRem(ctx, s.keys.own(shard, "due"), name).Err())
		},
		"its mail": func(ctx context.Context) error {
			return errors.Join(s.cmd.HSet(ctx, s.keys.key(shard, "t", name), "s", "").Err(),
				s.cmd.ZRem(ctx, s.keys.own(shard, "due"), name).Err(),
				s.cmd.XTrimMaxLen(ctx, s.keys.key(shard, "q", "slack"), 0).Err())
		},
	} {
		t.Run(what, func(t *testing.T) {
			mustPut(t, s, text("one"))
			if what == "its lease" { // held by somebody who is dead
				if err := s.cmd.HSet(within(t), s.keys.key(shard, "t", name), "s", "h", "k", "dead").Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := forget(within(t)); err != nil {
				t.Fatalf("forget: %v", err)
			}
			other := openStore(t, server.URL(), Options{Logger: quiet, Lease: time.Second})
			run := mustClaim(t, other)
			if _, err := other.Finish(within(t), run, time.Time{}); err != nil {
				t.Errorf("Finish: %v", err)
			}
		})
	}
}

// While a server is away nothing is heard of anybody: that says nothing of them.
func TestSilenceOfAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendfsync", "always")
	s := openStore(t, server.URL(), Options{Logger: quiet, Lease: 400 * time.Millisecond})
	crashed := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	crash(t, crashed)
	shard := shardOfThread(someThread)
	silence := func() time.Duration {
		t.Helper()
		d, err := s.Silent(within(t), someThread, crashed.Self())
		if err != nil {
			t.Fatalf("Silent: %v", err)
		}
		return d
	}
	// As if it had been silent for an hour, since nobody could be heard. A beat that was under
	// way may still arrive.
	for silence() < 50*time.Minute {
		if err := s.cmd.HSet(within(t), s.keys.own(shard, "procs"), crashed.Self(), time.Now().Add(-time.Hour).UnixMilli()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill(t)
	if err := s.Ping(within(t)); err == nil {
		t.Error("Ping of a dead server: no error")
	}
	server.Restart(t)
	for ctx := within(t); s.Ping(ctx) != nil; { // a connection that was tried before it was there may still be refused
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			t.Fatalf("Ping: %v", err)
		}
	}
	if d := silence(); d > time.Minute {
		t.Errorf("silent for %v just after the server was away", d)
	}
}

func posted(key, id string) memory.Posted {
	p := memory.Posted{Key: key}
	p.Ref.Platform, p.Ref.Channel, p.Ref.ID = someThread.Platform, someThread.Channel, id
	return p
}
