package redis

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"nod/internal/redistest"
	"nod/internal/storetest"
)

// prefixes gives each store of a server keys of its own.
var prefixes atomic.Int64

// opener gives the function by which the contract suite opens stores.
func opener(url string) storetest.Open {
	return func(t *testing.T, o storetest.Options) storetest.Instance {
		prefix := fmt.Sprintf("t%d", prefixes.Add(1))
		return instance(t, url, Options{Keep: o.Keep, Lease: o.Lease, Quota: o.Quota, Prefix: prefix})
	}
}

func instance(t *testing.T, url string, o Options, hooks ...redis.Hook) storetest.Instance {
	t.Helper()
	s := openStore(t, url, o)
	for _, h := range hooks {
		s.cmd.AddHook(h)
	}
	again := func(t *testing.T) storetest.Instance { return instance(t, url, o, hooks...) }
	return storetest.Instance{Store: s, Crash: func() { crash(t, s) }, Reopen: again, Replica: again}
}

// openStore opens a store that is closed with the test.
func openStore(t testing.TB, url string, o Options) *Store {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	}
	ctx, cancel := context.WithTimeout(context.Background(), storetest.Patience)
	defer cancel()
	s, err := Open(ctx, url, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// testLog writes a log to the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Helper()
	l.t.Logf("%s", p)
	return len(p), nil
}

// crash makes a store as good as dead, without giving anything up.
func crash(t testing.TB, s *Store) {
	t.Helper()
	s.close.Do(func() {
		if err := s.stopGoroutines(); err != nil {
			t.Errorf("halt: %v", err)
		}
		t.Cleanup(func() { _ = s.cmd.Close() })
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, opener(redistest.Start(t).URL()))
}

func TestContractOnCluster(t *testing.T) {
	notShort(t)
	t.Parallel()
	var addrs []string
	for _, s := range redistest.Cluster(t, 3) {
		addrs = append(addrs, s.Addr())
	}
	storetest.Run(t, opener("redis+cluster://"+strings.Join(addrs, ",")))
}

func TestContractOverSentinel(t *testing.T) {
	long(t)
	t.Parallel()
	server := redistest.Start(t)
	storetest.Run(t, opener("redis+sentinel://"+server.Sentinel(t, 0).Addr()+"/main/2"))
}

// The contract holds when the first answer to every script is lost on the way:
// each is sent again, and done once. Counters are not sent again.
func TestContractWithLostAnswers(t *testing.T) {
	notShort(t)
	t.Parallel()
	server := redistest.Start(t)
	lost := &losing{}
	storetest.Run(t, func(t *testing.T, o storetest.Options) storetest.Instance {
		prefix := fmt.Sprintf("t%d", prefixes.Add(1))
		in := instance(t, server.URL(), Options{Keep: o.Keep, Lease: o.Lease, Quota: o.Quota, Prefix: prefix}, lost)
		in.Forgets = true
		return in
	})
	t.Cleanup(func() {
		if lost.n.Load() == 0 {
			t.Error("no answer was lost")
		}
	})
}

// losing loses the first answer to a script with the same arguments, after the
// server did it.
type losing struct {
	n  atomic.Int64
	by sync.Map // arguments of those that were lost once
}

func (l *losing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *losing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *losing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil || cmd.Name() != "evalsha" || cmd.Args()[1] == countScript.Hash() {
			return err
		}
		if _, again := l.by.LoadOrStore(fmt.Sprint(cmd.Args()...), true); again {
			return nil
		}
		l.n.Add(1)
		cmd.SetErr(io.ErrUnexpectedEOF)
		return io.ErrUnexpectedEOF
	}
}

// notShort skips, under -short, what starts several servers and waits for them.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("several servers, and seconds of waiting for them: make test")
	}
}

// long skips what takes long and shows little that the rest does not.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("NOD_LONG") == "" {
		t.Skip("set NOD_LONG=1 to run it")
	}
}
