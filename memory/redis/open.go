// Package redis keeps threads in Redis, for teams that run several replicas of
// the bot. Any replica takes up any thread, and takes over from one that died.
//
// Each step of a thread's life (put, claim, commit) is one Lua script and one round
// trip. A script sees one shard, and a shard is a hash tag. So the same scripts run
// on one server, behind Sentinel and on a cluster. Streams with a consumer group
// hand out ready threads. lua/prelude.lua describes the keys.
//
// The truth is a comparison. Every log has a head, a word that changes with the log
// and never comes again. A writer names the head that it saw, and is refused if the
// log has another one. So a server that lost its last writes can't mix two
// processes' work into one history. A process that knows the lost writes restores
// them, unless another one went on meanwhile. A lease, in a sorted set that also
// holds the deadlines, only keeps two processes from the same work.
//
// A script may be sent again if its answer was lost: it recognises the call that it
// already did by the head that the call left.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"nod/chat"
	"nod/memory"
	"nod/memory/recent"
)

// Options configure a store. The zero value is good for one team on one server.
type Options struct {
	Logger *slog.Logger  // nil: slog.Default()
	Keep   time.Duration // a thread untouched for longer is erased; 0: never
	Quota  memory.Quota  // of files
	Wait   time.Duration // how long Open waits for an absent server
	Lease  time.Duration // how long a dead process still holds a thread; 0: 15 s
	Prefix string        // of every key; empty: "nod"
	// Process names this process among all that ever ran on any machine. Ended says of
	// such a name whether that process surely runs no more: then nobody waits for its
	// leases. Empty and nil: nobody can tell.
	Process string
	Ended   func(process string) bool
	// Direct says whether a thread is a conversation with one person, which the audit
	// log names by a pseudonym; nil: none is.
	Direct func(chat.ThreadID) bool
	TLS    *tls.Config // of the TLS schemes; nil: the system's roots
	// Dial makes the connections, TLS and all; nil: over the network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
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
	*link
	wait redis.UniversalClient // for blocking calls; closing it ends every wait

	keep     time.Duration
	quota    memory.Quota
	lease    time.Duration
	address  address
	tls      *tls.Config
	replicas replicas
	words    *words
	direct   func(chat.ThreadID) bool

	held      holders
	deadlines deadlines
	recent    recent.Logs
	feeds     feeds
	shards    [shards]shard
	began     time.Time        // when the store was opened
	wall      func() time.Time // the machine's clock
	mendNow   chan struct{}

	spawn func(func(context.Context)) // starts a goroutine that ends with the store
	stop  context.CancelFunc
	wg    sync.WaitGroup
	close sync.Once
}

var (
	_ memory.Full   = (*Store)(nil)
	_ memory.Lister = (*Store)(nil)
)

// The driver would write lines of its own to standard error, which are no JSON. The
// same comes back as errors.
func init() { logging.Disable() }

// Open connects to the servers of the URL, and starts the store's goroutines. It
// refuses servers that may drop keys when memory is short, or lose everything in a
// crash, and a store of another format ([memory.FormatError]). No error of this package
// holds the URL's password.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s := newStore(a, o)
	if err := s.prepare(ctx, a, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open redis store: %w", err), s.wait.Close(), s.cmd.Close())
	}
	s.start()
	return s, nil
}

func newStore(a address, o Options) *Store {
	s := &Store{
		link: a.link(o), wait: a.client(o),
		keep: o.Keep, quota: o.Quota, lease: o.Lease,
		began: time.Now(), wall: time.Now, address: a, tls: o.TLS, direct: o.Direct, words: newWords(), mendNow: make(chan struct{}, 1),
		held: holders{by: map[string]*held{}}, deadlines: deadlines{soon: make(chan struct{}, 1)},
		feeds: feeds{by: map[string]*feed{}, work: make(chan struct{}, 1)},
	}
	if s.lease <= 0 {
		s.lease = defaultLease
	}
	s.replicas.wanted = a.replicas
	s.trouble = func(shard int) { s.shards[shard].shaken() }
	return s
}

// prepare checks the servers and makes them ready. It waits for one that is away.
func (s *Store) prepare(ctx context.Context, a address, o Options) error {
	began, said := time.Now(), time.Time{}
	for {
		err := s.tryToPrepare(ctx, a, o)
		if err == nil || !isAway(err) || time.Since(began) >= o.Wait {
			return err
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			s.log.Warn("redis: the store is away; waiting for it", "for", o.Wait.String(), "error", err)
		}
		if sleep(ctx, 500*time.Millisecond) != nil {
			return err
		}
	}
}

func (s *Store) tryToPrepare(ctx context.Context, a address, o Options) error {
	c := &checkup{link: s.link, a: a, o: o, replicas: &s.replicas}
	if err := c.checkAll(ctx); err != nil {
		return err
	}
	if err := s.checkFormats(ctx); err != nil { // before anything is changed
		return err
	}
	if err := s.eachShard(ctx, s.begin); err != nil {
		return err
	}
	for _, line := range c.lines {
		s.log.Warn("redis: risk in a server's settings", "risk", line)
	}
	return s.eachShard(ctx, func(ctx context.Context, i int) error {
		if err := s.beatShard(ctx, i, nil); err != nil {
			return err
		}
		return s.takeOver(ctx, i, o)
	})
}

// start starts the goroutines. Their number does not grow with the threads.
func (s *Store) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.feeds.ended = cancel, ctx.Done()
	s.spawn = func(f func(context.Context)) { s.wg.Go(func() { f(ctx) }) }
	for _, loop := range []func(context.Context){s.beat, s.sweepLoop, s.hearMail, s.giveBackLoop, s.mendLoop} {
		s.spawn(loop)
	}
}

// stopGoroutines ends the goroutines, and changes nothing in the server.
func (s *Store) stopGoroutines() error {
	s.stop()
	s.feeds.close()
	err := s.wait.Close()
	s.wg.Wait()
	return err
}

// Close gives up this process's threads, so that others continue at once, and waits for
// the store's goroutines. If a server does not answer, its leases run out.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		err = s.stopGoroutines()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if leaveErr := s.releaseAll(ctx); leaveErr != nil {
			s.log.Warn("redis: leases not given up", "error", leaveErr)
		}
		err = errors.Join(err, s.cmd.Close())
	})
	return err
}

// Ping implements [memory.Store]. If replicas must confirm writes, a server without
// them takes none.
func (s *Store) Ping(ctx context.Context) error {
	err := s.eachShard(ctx, func(ctx context.Context, shard int) error {
		_, err := s.runDurably(ctx, pingScript, shard)
		return err
	})
	if err != nil {
		return fmt.Errorf("write to redis: %w", explainRefusal(err))
	}
	return nil
}

// Viewer reads a store beside other processes, and changes nothing in it. It is a
// [memory.Reader], a [memory.Catchup] and a [memory.Auditor], and reads files.
type Viewer struct {
	*link
}

// View connects to a store for reading. A store of another format is a
// [memory.FormatError].
func View(ctx context.Context, url string, o Options) (*Viewer, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	v := &Viewer{a.link(o)}
	if err := v.checkFormats(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("view redis store: %w", err), v.Close())
	}
	return v, nil
}

// Close ends the connections.
func (v *Viewer) Close() error { return v.cmd.Close() }
