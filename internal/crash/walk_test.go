package crash_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
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

// openURL opens a store for a child process: "sqlite:PATH", or the URL of a Redis
// server and how it knows of those that died. "alone=PREFIX" is for keys that one
// process uses at a time: all others are dead. With "lease=DURATION" their leases run out.
func openURL(ctx context.Context, url string) (memory.Full, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return sqlite.Open(ctx, path, sqlite.Options{Wait: time.Minute})
	}
	url, how, _ := strings.Cut(url, " ")
	kind, value, _ := strings.Cut(how, "=")
	if kind == "alone" { // however slow the machine is, the lease of a process that lives does not run out
		self := strconv.Itoa(os.Getpid())
		return redis.Open(ctx, url, redis.Options{
			Prefix: value, Lease: time.Hour, Process: self, Ended: func(p string) bool { return p != self },
		})
	}
	lease, err := time.ParseDuration(value)
	if err != nil {
		return nil, err
	}
	return redis.Open(ctx, url, redis.Options{Lease: lease})
}

func file(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "nod.db") }

// Killed at any boundary, a turn ends with exactly one answer, and its side
// effect runs at most once.
func TestKillWalk(t *testing.T) { walk(t, crash.Walk) }

// Killed at any boundary, a call that a person makes ends with exactly one report,
// and runs at most once.
func TestKillWalkByHand(t *testing.T) { walk(t, crash.WalkByHand) }

// Killed at any boundary, a call that a person ran again runs at most once, and its
// turn ends with exactly one answer.
func TestKillWalkAgain(t *testing.T) { walk(t, crash.WalkAgain) }

// Killed anywhere between the form of a code and the vote, the call runs at most once.
func TestKillWalkByCode(t *testing.T) { walk(t, crash.WalkByCode) }

// walk plays a walk on both stores.
func walk(t *testing.T, play func(t *testing.T, stores crash.Stores)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		play(t, file)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		url := redistest.Start(t).URL()
		var n atomic.Int64
		play(t, func(*testing.T) string { return fmt.Sprintf("%s alone=w%d", url, n.Add(1)) })
	})
}

// stormy says how long a storm lasts. Under -short there is none.
func stormy(t *testing.T) time.Duration {
	t.Helper()
	if testing.Short() {
		t.Skip("a storm of some seconds in which processes are killed at random: make test")
	}
	if crash.Long() {
		return 30 * time.Second
	}
	return 5 * time.Second
}

// Processes stand still for longer than any lease, with a slow model and slow side
// effects. They do nothing twice, lose nothing, and report no known outcome as unknown.
func TestStopStorm(t *testing.T) {
	t.Parallel()
	crash.Storm{
		Store: redistest.Start(t).URL() + " lease=1s", Open: openURL, Processes: 3, Threads: 20, Messages: 6, For: 2 * stormy(t),
		Stop: true, Slow: 400 * time.Millisecond,
	}.Run(t)
}

// Killed at random under load, nothing is lost and nothing is done twice.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		crash.Storm{Store: file(t), Open: openURL, Processes: 1, Threads: 25, Messages: 6, Incidents: 5, For: stormy(t)}.Run(t)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		// On a busy machine a live process may stand still for a second between the
		// check of its lease and the platform, and another one may have the thread by
		// then.
		store := redistest.Start(t).URL() + " lease=3s"
		messages := 6
		if crash.Long() {
			messages = 14 // 210 of which come later
		}
		crash.Storm{Store: store, Open: openURL, Processes: 3, Threads: 30, Messages: messages, Incidents: 10, For: stormy(t)}.Run(t)
	})
}
