// Package redis keeps threads in Redis, for teams that run several replicas of
// the bot. Any replica takes up any thread, and takes over from one that died.
//
// Each step of a thread's life (put, claim, commit, finish) is one Lua script
// and one round trip. What a script has to see lies in one shard, and a shard
// is a hash tag, so that the same scripts run on one server, behind Sentinel
// and on a cluster. Ready threads are handed out by streams with a consumer
// group; who holds a thread is said by a fencing token in the thread's own
// hash, and until when by a sorted set that also holds the deadlines. The keys
// are described in lua/prelude.lua.
//
// Every script may be sent again when its answer was lost: it knows the call
// that it already did.
package redis

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"nod/memory"
	"nod/memory/recent"
)

// Options change how a store behaves. The zero value is good for one team on
// one server.
type Options struct {
	Logger *slog.Logger  // nil: slog.Default()
	Keep   time.Duration // a thread untouched for longer is erased; 0: never
	Lease  time.Duration // how long a dead process still holds a thread; 0: 15 s
	Prefix string        // of every key; empty: "nod"
	ID     string        // of this process among the others; empty: random
	TLS    *tls.Config   // of the TLS schemes; nil: the system's roots
}

// Defaults and fixed numbers.
const (
	shards       = 8 // never change it: the keys in a server depend on it
	defaultLease = 15 * time.Second
	pollEvery    = 5 * time.Second // at rest; also how long a read blocks
	group        = "nod"
)

// Store is a [memory.Full] in Redis. It is safe for concurrent use.
type Store struct {
	log   *slog.Logger
	keep  time.Duration
	lease time.Duration
	me    string
	keys  keys

	cmd  redis.UniversalClient // for what is answered at once
	wait redis.UniversalClient // for what blocks; closing it ends every wait

	held      holders
	deadlines deadlines
	recent    *recent.Logs
	feeds     feeds
	calls     counter // numbers the calls of this process

	spawn func(func(context.Context)) // starts a goroutine that ends with the store
	stop  context.CancelFunc
	wg    sync.WaitGroup
	close sync.Once
}

var _ memory.Full = (*Store)(nil)

// The driver would write lines of its own to standard error, which are no
// JSON; what matters of them comes back as errors.
func init() { logging.Disable() }

// Open connects to the servers that the URL names and starts what the store
// does by itself. It refuses servers that may drop keys when memory is short.
// No error of this package holds the URL's password.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		log: o.Logger, keep: o.Keep, lease: o.Lease, me: o.ID,
		keys: keys{prefix: o.Prefix},
		cmd:  a.client(o.TLS), wait: a.client(o.TLS), recent: recent.New(),
	}
	s.setDefaults()
	if err := s.check(ctx, a); err != nil {
		return nil, errors.Join(fmt.Errorf("open redis store: %w", err), s.closeClients())
	}
	s.start()
	return s, nil
}

func (s *Store) setDefaults() {
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.lease <= 0 {
		s.lease = defaultLease
	}
	if s.keys.prefix == "" {
		s.keys.prefix = "nod"
	}
	if s.me == "" {
		id := make([]byte, 6)
		_, _ = rand.Read(id) // never fails
		s.me = hex.EncodeToString(id)
	}
	s.held.init()
	s.deadlines.init()
	s.feeds.init()
}

// start starts the goroutines: there are as many of them for ten thousand
// threads as for none.
func (s *Store) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.spawn = func(f func(context.Context)) { s.wg.Go(func() { f(ctx) }) }
	for _, loop := range []func(context.Context){s.beat, s.sweepLoop, s.hearMail, s.giveBackLoop} {
		s.spawn(loop)
	}
}

// halt ends the goroutines, and leaves in the server what is there.
func (s *Store) halt() error {
	s.stop()
	s.feeds.close()
	err := s.wait.Close()
	s.wg.Wait()
	return err
}

// Close gives up what this process holds, so that others go on with it at
// once, and waits for the store's goroutines. A server that does not answer
// doesn't keep it from closing: then the leases run out.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		err = s.halt()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if leaveErr := s.leave(ctx); leaveErr != nil {
			s.log.Warn("redis: leases not given up", "error", leaveErr)
		}
		err = errors.Join(err, s.cmd.Close())
	})
	return err
}

func (s *Store) closeClients() error { return errors.Join(s.wait.Close(), s.cmd.Close()) }

// Ping implements [memory.Store].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		return c.Ping(ctx).Err()
	}); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}
