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

// errClosed is what there is to say once the store is closed.
var errClosed = fmt.Errorf("the store is closed: %w", memory.ErrFenced)

// A ready thread that was handed out and not claimed within this time is given
// back, so that another process may have it.
const spareFor = 50 * time.Millisecond

// offer is a ready thread that the server handed to this process. It is not
// held yet.
type offer struct {
	shard  int
	thread string
	id     string // its entry of the ready stream
	token  string // under which it was, or may have been, claimed
	at     time.Time
}

// feeds are the ready threads on their way from the server to those who call
// Next, one feed for each set of platforms.
type feeds struct {
	mu       sync.Mutex
	by       map[string]*feed
	doubtful []offer // claimed perhaps, and by nobody here
	closed   bool
	work     chan struct{} // there is something to give back
}

func (f *feeds) init() { f.by, f.work = map[string]*feed{}, make(chan struct{}, 1) }

// feed hands ready threads to those who wait for one, oldest first. It asks
// the server only while somebody waits.
type feed struct {
	platforms []string
	work      chan struct{}

	mu      sync.Mutex
	asked   *sync.Cond // somebody waits, or it is closed
	waiting []chan offer
	spare   []offer
	closed  bool
}

// feedOf gives the feed of these platforms, and starts it with the first call.
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

// streams gives the ready streams of the platforms, in as many parts as it
// takes reads to wait for them: a cluster can't wait for two slots at once.
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
	for i := range s.shards { // what was missed while nobody was there
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
		f.give(offers)
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
		if c, ok := s.wait.(*redis.ClusterClient); ok && broken(err) {
			c.ReloadState(ctx)
		}
		if s.recover(ctx, err, names) != nil {
			return
		}
	}
}

// recover makes the consumer groups anew where a server lost them, and waits a
// moment where there is none. The error says that the store is closed.
func (s *Store) recover(ctx context.Context, err error, names []string) error {
	if strings.HasPrefix(err.Error(), "NOGROUP") && s.makeGroups(ctx, names) == nil {
		return nil
	}
	return sleep(ctx, 100*time.Millisecond)
}

// readReady waits for ready threads, up to count of each stream. Delivery
// needs no acknowledgement: a thread stays ready until it is claimed, and what
// was handed out and not claimed is seen by the sweeper.
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

// wanted waits until somebody wants a thread, and says how many do. 0: the
// feed is closed.
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

// take waits for a ready thread.
func (f *feed) take(ctx context.Context) (offer, error) {
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
		f.leave(mine)
		return offer{}, ctx.Err()
	}
}

// leave stops waiting. A thread that came at the last moment goes to the next.
func (f *feed) leave(mine chan offer) {
	f.mu.Lock()
	i := slices.Index(f.waiting, mine)
	if i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
	}
	f.mu.Unlock()
	if i < 0 {
		if o, ok := <-mine; ok {
			f.give([]offer{o})
		}
	}
}

// give hands threads to those who wait, and keeps the rest for a moment.
func (f *feed) give(offers []offer) {
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

// stale takes out what was kept for too long, or all of it.
func (f *feed) stale(all bool) (old []offer, more bool) {
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

// doubt notes a thread that this process may have claimed, and that nobody
// here goes on with.
func (f *feeds) doubt(o offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubtful = append(f.doubtful, o)
	signal(f.work)
}

// platforms gives the platforms that anybody claims for here.
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

// unclaimed takes out what is to be given back: all of it, or what is old.
func (f *feeds) unclaimed(all bool) (out []offer, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, f.doubtful = f.doubtful, nil
	for _, feed := range f.by {
		old, rest := feed.stale(all)
		out = append(out, old...)
		more = more || rest
	}
	return out, more
}

// giveBackLoop gives back what was not claimed in time.
func (s *Store) giveBackLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.feeds.work:
		}
		for more := true; more; {
			var offers []offer
			offers, more = s.feeds.unclaimed(false)
			if err := s.giveBack(ctx, offers); err != nil {
				for _, o := range offers {
					s.feeds.doubt(o)
				}
				more = true
			}
			if more && sleep(ctx, spareFor) != nil {
				return
			}
		}
	}
}

// giveBack makes threads ready for others. A shard that can't be reached holds
// up no other; its threads are found by the sweeper in the end.
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

// signal wakes whoever reads the channel, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
