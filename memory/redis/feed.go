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
	at     time.Time
}

// feeds bring ready threads from the server to callers of Next, one feed for each set
// of platforms.
type feeds struct {
	mu       sync.Mutex
	by       map[string]*feed
	doubtful []offer // perhaps claimed, without a caller
	closed   bool
	work     chan struct{} // wakes giveBackLoop
}

func (f *feeds) init() { f.by, f.work = map[string]*feed{}, make(chan struct{}, 1) }

// feed hands ready threads to waiting callers, oldest first. It asks the server only
// while a caller waits.
type feed struct {
	platforms []string
	work      chan struct{}

	mu      sync.Mutex
	asked   *sync.Cond // a caller waits, or the feed is closed
	waiting []chan offer
	spare   []offer
	closed  bool
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
	f := &feed{platforms: platforms, work: s.feeds.work}
	f.asked = sync.NewCond(&f.mu)
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
	for n := f.wanted(); n > 0; n = f.wanted() {
		offers, err := s.readReady(ctx, args, streams, (n+len(streams)-1)/len(streams))
		f.handOut(offers)
		if err == nil {
			if down {
				s.log.Info("redis: ready threads are read again")
			}
			down = false
			continue
		}
		if !down && !f.over() {
			s.log.Warn("redis: ready threads can't be read", "error", err)
		}
		down = true
		if c, ok := s.wait.(*redis.ClusterClient); ok && isBroken(err) {
			c.ReloadState(ctx)
		}
		if s.recover(ctx, err, names) != nil {
			return
		}
	}
}

// recover makes lost consumer groups anew, or pauses if it can't. Its error says that
// the store is closed.
func (s *Store) recover(ctx context.Context, err error, names []string) error {
	if strings.HasPrefix(err.Error(), "NOGROUP") && s.makeGroups(ctx, names) == nil {
		return nil
	}
	return sleep(ctx, 100*time.Millisecond)
}

// readReady waits for ready threads, up to count of each stream. It acknowledges
// nothing: a thread stays ready until its claim, and the sweeper finds unclaimed ones.
func (s *Store) readReady(ctx context.Context, args []string, streams map[string]int, count int) ([]offer, error) {
	found, err := s.wait.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: s.words.self, Streams: args, Count: int64(count), Block: pollEvery, NoAck: true,
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

// wanted waits for a caller, and counts the waiting ones; 0 after close.
func (f *feed) wanted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.waiting) == 0 && !f.closed {
		f.asked.Wait()
	}
	if f.closed {
		return 0
	}
	return len(f.waiting)
}

func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// waitForOffer waits for a ready thread.
func (f *feed) waitForOffer(ctx context.Context) (offer, error) {
	if err := ctx.Err(); err != nil {
		return offer{}, err
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return offer{}, errClosed
	}
	if len(f.spare) > 0 {
		o := f.spare[0]
		f.spare = f.spare[1:]
		f.mu.Unlock()
		return o, nil
	}
	mine := make(chan offer, 1)
	f.waiting = append(f.waiting, mine)
	f.asked.Broadcast()
	f.mu.Unlock()
	select {
	case o, ok := <-mine:
		if !ok {
			return offer{}, errClosed
		}
		return o, nil
	case <-ctx.Done():
		f.stopWaiting(mine)
		return offer{}, ctx.Err()
	}
}

// stopWaiting removes a caller. A thread that arrived at the last moment goes to the
// next one.
func (f *feed) stopWaiting(mine chan offer) {
	f.mu.Lock()
	i := slices.Index(f.waiting, mine)
	if i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
	}
	f.mu.Unlock()
	if i < 0 {
		if o, ok := <-mine; ok {
			f.handOut([]offer{o})
		}
	}
}

// handOut hands threads to waiting callers, and keeps the rest for a moment.
func (f *feed) handOut(offers []offer) {
	if len(offers) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range offers {
		if len(f.waiting) > 0 {
			f.waiting[0] <- o
			f.waiting = f.waiting[1:]
			continue
		}
		o.at = time.Now()
		f.spare = append(f.spare, o)
		signal(f.work)
	}
}

// removeStale removes threads that waited too long, or all.
func (f *feed) removeStale(all bool) (old []offer, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spare = slices.DeleteFunc(f.spare, func(o offer) bool {
		if all || time.Since(o.at) >= spareFor {
			old = append(old, o)
			return true
		}
		return false
	})
	return old, len(f.spare) > 0
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, w := range f.waiting {
		close(w)
	}
	f.waiting = nil
	f.asked.Broadcast()
}

func (f *feeds) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, feed := range f.by {
		feed.close()
	}
}

// addDoubtful notes a thread that this process may have claimed, and that no caller
// has.
func (f *feeds) addDoubtful(o offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubtful = append(f.doubtful, o)
	signal(f.work)
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

// removeUnclaimed removes threads to give back: all, or the old ones.
func (f *feeds) removeUnclaimed(all bool) (out []offer, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, f.doubtful = f.doubtful, nil
	for _, feed := range f.by {
		old, rest := feed.removeStale(all)
		out = append(out, old...)
		more = more || rest
	}
	return out, more
}

// giveBackLoop gives back threads without a claim.
func (s *Store) giveBackLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.feeds.work:
		}
		for more := true; more; {
			var offers []offer
			offers, more = s.feeds.removeUnclaimed(false)
			if err := s.giveBack(ctx, offers); err != nil {
				for _, o := range offers {
					s.feeds.addDoubtful(o)
				}
				more = true
			}
			if more && sleep(ctx, spareFor) != nil {
				return
			}
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
