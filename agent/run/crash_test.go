package run_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nod/internal/crash"
	"nod/internal/redistest"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

func TestMain(m *testing.M) {
	crash.Main(openURL)
	os.Exit(m.Run())
}

// openURL opens a store for a child process.
func openURL(ctx context.Context, url string) (memory.Full, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return sqlite.Open(ctx, path, sqlite.Options{Wait: 10 * time.Second})
	}
	url, lease, slow := strings.Cut(url, " lease=")
	o := redis.Options{Lease: 500 * time.Millisecond}
	if slow {
		var err error
		if o.Lease, err = time.ParseDuration(lease); err != nil {
			return nil, err
		}
	}
	return redis.Open(ctx, url, o)
}

func file(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "nod.db") }

// Killed at any boundary, a turn ends with exactly one answer, and its side
// effect runs at most once.
func TestKillWalk(t *testing.T) { walk(t, crash.Walk) }

// Killed at any boundary, a call that a person makes ends with exactly one report,
// and runs at most once.
func TestKillWalkByHand(t *testing.T) { walk(t, crash.WalkByHand) }

// Killed at any boundary, a call that a person edits and runs again runs at most once,
// and the turn that goes on from it ends with exactly one answer.
func TestKillWalkAgain(t *testing.T) { walk(t, crash.WalkAgain) }

// walk plays a walk on both stores.
func walk(t *testing.T, play func(t *testing.T, stores crash.Stores)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		play(t, func(t *testing.T) func() string { return func() string { return file(t) } })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		play(t, func(t *testing.T) func() string {
			srv := redistest.Start(t)
			return func() string {
				if err := srv.Client(t).FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				return srv.URL()
			}
		})
	})
}

// Processes that stand still for longer than any lease, with a model and side
// effects that take their time, do nothing twice, lose nothing, and call no outcome
// unknown that is known.
func TestStopStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("15 seconds of standing still")
	}
	t.Parallel()
	crash.Storm{
		Store: redistest.Start(t).URL(), Open: openURL, Processes: 3, Threads: 20, Messages: 6, For: 15 * time.Second,
		Stop: true, Slow: 400 * time.Millisecond,
	}.Run(t)
}

// Killed at random under load, nothing is lost and nothing is done twice.
func TestKillStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("20 seconds of killing")
	}
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		crash.Storm{Store: file(t), Open: openURL, Processes: 1, Threads: 50, Messages: 10, For: 20 * time.Second}.Run(t)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		// On a busy machine a process that lives may stand for half a second between the
		// look at its lease and the platform, and another one have the thread by then.
		store := redistest.Start(t).URL() + " lease=1s"
		crash.Storm{Store: store, Open: openURL, Processes: 3, Threads: 50, Messages: 10, For: 20 * time.Second}.Run(t)
	})
}
