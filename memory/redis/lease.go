package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// Self implements [memory.Store].
func (s *Store) Self() string { return s.words.self }

// Silent implements [memory.Store]. A process beats in every shard as long as it lives.
// So a process that was never heard there is gone.
func (s *Store) Silent(ctx context.Context, thread chat.ThreadID, process string) (time.Duration, error) {
	if process == s.words.self {
		return 0, nil
	}
	shard := shardOfThread(thread)
	out, err := s.run(ctx, silentScript, shard, process)
	if err != nil {
		return 0, err
	}
	ms, _ := out.(int64)
	if ms < 0 {
		return memory.Forever, nil
	}
	return s.shards[shard].heard(time.Duration(ms) * time.Millisecond), nil
}

// beat reports this process as alive, renews its leases and reads the next deadlines, which
// other processes may have set: a few times in the length of a lease.
func (s *Store) beat(ctx context.Context) {
	for {
		var wg sync.WaitGroup
		for i, runs := range s.held.list() {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, s.lease/4)
				defer cancel()
				// A server that is away can't give the thread to another process
				// either.
				err := s.beatShard(ctx, i, runs)
				if errors.Is(err, context.Canceled) {
					return
				}
				if err != nil {
					s.shards[i].shaken()
				}
				s.logAway(i, err)
			})
		}
		wg.Wait()
		if sleep(ctx, min(s.lease/3, pollEvery)) != nil {
			return
		}
	}
}

// logAway logs once that a server is away, and once that it is back.
func (s *Store) logAway(i int, err error) {
	switch was := s.shards[i].away.Swap(err != nil); {
	case err != nil && !was:
		s.log.Warn("redis: leases can't be renewed", "shard", i, "error", err)
	case err == nil && was:
		s.log.Info("redis: leases are renewed again", "shard", i)
	}
}

func (s *Store) beatShard(ctx context.Context, i int, runs []*held) error {
	args := []any{s.words.self, s.lease.Milliseconds()}
	for _, r := range runs {
		args = append(args, r.thread, r.token)
	}
	sent := s.moment()
	reply := newReply(s.run(ctx, beatScript, i, args...))
	now, before, next := reply.int(), reply.int(), reply.int()
	if reply.err != nil {
		return reply.err
	}
	s.noteBeat(i, now, before)
	s.deadlines.tick(i, now)
	s.deadlines.note(i, next)
	for _, r := range runs {
		switch n := reply.int(); {
		case reply.err != nil:
			return reply.err
		case n < 0:
			r.lost.Store(true)
			r.bell.Lose()
		case n > 0:
			r.bell.Mail()
		}
	}
	s.shards[i].alive.Store(&sent) // now that the runs know what they lost
	return nil
}

// moment is a time by two clocks. The process clock is never set, but stands still
// while the machine sleeps. The machine clock may be set.
type moment struct {
	up   time.Duration
	wall time.Time
}

func (s *Store) moment() moment { return moment{time.Since(s.began), s.wall().Round(0)} }

// since gives the time since a moment, by the clock that saw more of it.
func (s *Store) since(m moment) time.Duration {
	now := s.moment()
	return max(now.up-m.up, now.wall.Sub(m.wall))
}

// doubts returns a function that says whether a lease may have run out: this process or
// its machine stood still, or the server was away.
func (s *Store) doubts(shard int, asked moment) func() bool {
	return func() bool {
		heard := asked
		if m := s.shards[shard].alive.Load(); m != nil && m.up > heard.up {
			heard = *m
		}
		return s.since(heard) >= s.lease
	}
}

// noteBeat notes an answered beat. A server that does not know the beat before came
// back older.
func (s *Store) noteBeat(i int, now, before int64) {
	sh := &s.shards[i]
	if last := sh.beaten.Swap(now); before < last {
		s.reportOlder(i, "it forgot a beat of this process", "")
	}
	if sh.suspect.Swap(false) {
		sh.steady.Store(time.Now().UnixNano())
		sh.mend.Store(true)
		signal(s.mendNow)
	}
}

// hearMail listens for entries that other processes put into held threads.
func (s *Store) hearMail(ctx context.Context) {
	sub := s.wait.Subscribe(ctx, s.keys.mail(s.words.self))
	defer func() { _ = sub.Close() }()
	heard := sub.Channel(redis.WithChannelHealthCheckInterval(time.Minute))
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-heard:
			if !ok {
				return
			}
			s.held.mail(m.Payload)
		}
	}
}

// takeOver makes ready the threads of processes that ended without a word, and
// registers this process for the same. A mistake costs no more than a lost lease.
func (s *Store) takeOver(ctx context.Context, i int, o Options) error {
	if o.Process == "" || o.Ended == nil {
		return nil
	}
	where := s.keys.own(i, "where")
	ran, err := s.cmd.HGetAll(ctx, where).Result()
	if err != nil {
		return fmt.Errorf("look for processes that ended: %w", err)
	}
	for self, process := range ran {
		if !o.Ended(process) {
			continue
		}
		if _, err := s.run(ctx, endedScript, i, self, s.lease.Milliseconds(), takeOverCount); err != nil {
			return fmt.Errorf("take over from a process that ended: %w", err)
		}
	}
	return memory.Doing("say where this process runs", s.cmd.HSet(ctx, where, s.words.self, o.Process).Err())
}

// takeOverCount limits the threads of a shard that takeOver looks at. Threads beyond
// that wait for their lease.
const takeOverCount = 1000

// releaseAll gives up everything that this process holds, and says that the process is
// gone.
func (s *Store) releaseAll(ctx context.Context) error {
	offers := s.feeds.takeDoubtful()
	for _, h := range s.held.close() {
		offers = append(offers, offer{shard: h.shard, thread: h.thread, id: h.ready, token: h.token})
	}
	errs := []error{s.giveBack(ctx, offers)}
	for i := range shards {
		_, err := s.run(ctx, goneScript, i, s.words.self, s.lease.Milliseconds(), sweepCount)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
