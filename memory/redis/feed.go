package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// errClosed is the error of every call after Close.
var errClosed = fmt.Errorf("the store is closed: %w", memory.ErrFenced)

// spareFor is how long an offered thread waits for a claim. Then it is given back, so
// that another process may have it.
const spareFor = 50 * time.Millisecond

// offer is a ready thread that the server handed to this process. Nobody holds it yet.
type offer struct {
	shard  int
	thread string
	id     string // its entry in the ready stream
	token  string // of the claim that may have happened
}

// feeds bring ready threads from the server to callers of Next, one feed for each set
// of platforms.
type feeds struct {
	mu       sync.Mutex
	by       map[string]*feed
	doubtful []offer // without a caller, perhaps claimed
	closed   bool
	ended    <-chan struct{} // closed with the store
	work     chan struct{}   // wakes giveBackLoop
}

// feed hands ready threads to waiting callers. A caller that waits asks each of its
// goroutines to read one.
type feed struct {
	platforms []string
	asked     chan struct{}
	out       chan offer
}

// feedOf returns the feed of these platforms, and starts it at the first call.
func (s *Store) feedOf(platforms []string) (*feed, error) {
	platforms = slices.Compact(slices.Sorted(slices.Values(platforms)))
	if len(platforms) == 0 {
		return nil, errors.New("no platform to claim for")
	}
	name := strings.Join(platforms, "\x00")
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	if s.feeds.closed {
		return nil, errClosed
	}
	if f := s.feeds.by[name]; f != nil {
		return f, nil
	}
	f := &feed{platforms: platforms, asked: make(chan struct{}), out: make(chan offer)}
	s.feeds.by[name] = f
	for _, streams := range s.streams(platforms) {
		s.spawn(func(ctx context.Context) { s.feed(ctx, f, streams) })
	}
	return f, nil
}

// streams groups the ready streams of the platforms by the reads that must wait for
// them: a cluster can't wait for two slots at once.
func (s *Store) streams(platforms []string) []map[string]int {
	_, cluster := s.cmd.(*redis.ClusterClient)
	var parts []map[string]int
	for shard := range shards {
		if shard == 0 || cluster {
			parts = append(parts, map[string]int{})
		}
		for _, p := range platforms {
			parts[len(parts)-1][s.keys.key(shard, "q", p)] = shard
		}
	}
	return parts
}

// feed reads ready streams until the store is closed.
func (s *Store) feed(ctx context.Context, f *feed, streams map[string]int) {
	names := make([]string, 0, 2*len(streams))
	for name := range streams {
		names = append(names, name)
	}
	if err := s.makeGroups(ctx, names); err != nil && ctx.Err() == nil {
		s.log.Warn("redis: consumer groups not made yet", "error", err)
	}
	for i := range s.shards { // look for threads missed before the start
		s.shards[i].mend.Store(true)
	}
	signal(s.mendNow)
	args := slices.Clone(names)
	for range streams {
		args = append(args, ">")
	}
	down := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.asked:
		}
		offers, err := s.readReady(ctx, args, streams)
		s.handOut(ctx, f, offers)
		if err == nil {
			if down {
				s.log.Info("redis: ready threads are read again")
			}
			down = false
			continue
		}
		if !down && ctx.Err() == nil {
			s.log.Warn("redis: ready threads can't be read", "error", err)
		}
		down = true
		if isBroken(err) {
			reload(ctx, s.wait)
		}
		if strings.HasPrefix(err.Error(), "NOGROUP") && s.makeGroups(ctx, names) == nil {
			continue
		}
		if sleep(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
}

// readReady waits for ready threads, at most one of each stream. It acknowledges
// nothing: a thread stays ready until its claim, and the sweeper finds unclaimed ones.
func (s *Store) readReady(ctx context.Context, args []string, streams map[string]int) ([]offer, error) {
	found, err := s.wait.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: s.words.self, Streams: args, Count: 1, Block: pollEvery, NoAck: true,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	var offers []offer
	for _, stream := range found {
		for _, m := range stream.Messages {
			thread, _ := m.Values["t"].(string)
			offers = append(offers, offer{shard: streams[stream.Stream], thread: thread, id: m.ID})
		}
	}
	return offers, err
}

func (s *Store) makeGroups(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		err := s.wait.XGroupCreateMkStream(ctx, name, group, "0").Err()
		if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// waitForOffer waits for a ready thread of a feed.
func (s *Store) waitForOffer(ctx context.Context, f *feed) (offer, error) {
	for {
		if err := ctx.Err(); err != nil {
			return offer{}, err
		}
		select {
		case f.asked <- struct{}{}:
		case o := <-f.out:
			return o, nil
		case <-s.feeds.ended:
			return offer{}, errClosed
		case <-ctx.Done():
		}
	}
}

// handOut hands threads to callers. It keeps one that nobody wants for a moment, and
// then gives back the rest.
func (s *Store) handOut(ctx context.Context, f *feed, offers []offer) {
	ctx, cancel := context.WithTimeout(ctx, spareFor)
	defer cancel()
	for _, o := range offers {
		select {
		case f.out <- o:
		case <-ctx.Done():
			s.feeds.addDoubtful(o)
		}
	}
}

func (f *feeds) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// addDoubtful notes a thread that no caller has, and that this process may have claimed.
func (f *feeds) addDoubtful(o offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubtful = append(f.doubtful, o)
	signal(f.work)
}

func (f *feeds) takeDoubtful() (out []offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, f.doubtful = f.doubtful, nil
	return out
}

// platforms lists the platforms of all callers.
func (f *feeds) platforms() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, feed := range f.by {
		out = append(out, feed.platforms...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// giveBackLoop gives back threads without a claim.
func (s *Store) giveBackLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.feeds.work:
		}
		offers := s.feeds.takeDoubtful()
		if s.giveBack(ctx, offers) == nil {
			continue
		}
		for _, o := range offers {
			s.feeds.addDoubtful(o)
		}
		if sleep(ctx, spareFor) != nil {
			return
		}
	}
}

// giveBack makes threads ready for others. An unreachable shard delays no other; the
// sweeper finds its threads in the end.
func (s *Store) giveBack(ctx context.Context, offers []offer) error {
	var args [shards][]any
	for _, o := range offers {
		args[o.shard] = append(args[o.shard], o.thread, o.id, o.token)
	}
	var errs []error
	for shard, triples := range args {
		if len(triples) == 0 {
			continue
		}
		triples = append([]any{s.lease.Milliseconds()}, triples...)
		_, err := s.run(ctx, giveBackScript, shard, triples...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// signal wakes the reader of a channel, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
