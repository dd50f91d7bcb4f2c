package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/internal/redistest"
	"nod/internal/storetest"
	"nod/memory"
)

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), storetest.Patience)
	t.Cleanup(cancel)
	return ctx
}

func text(s string) memory.Message { return memory.Message{Message: chat.Message{Text: s}} }

var someThread = chat.ThreadID{Platform: "slack", Channel: "C", Root: "1"}

func mustClaim(t *testing.T, s *Store) *memory.Run {
	t.Helper()
	run, err := s.Next(within(t), "slack")
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return run
}

func mustPut(t *testing.T, s *Store, body memory.Body) {
	t.Helper()
	if _, err := s.Put(within(t), someThread, body); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

// traffic writes and serves messages until each is in its thread's log once,
// whatever errors come meanwhile, and calls disturb in the middle.
func traffic(t *testing.T, stores []*Store, disturb func()) {
	t.Helper()
	const nThreads, each = 6, 40
	ctx := within(t)
	claims, stop := context.WithCancel(ctx)
	defer stop()
	var wg, writers sync.WaitGroup
	half := make(chan struct{}, nThreads)
	for i := range nThreads {
		writers.Go(func() {
			for n := range each {
				putUntilDone(ctx, t, stores[i%len(stores)], i, n)
				if n == each/2 {
					half <- struct{}{}
				}
			}
		})
	}
	for _, s := range stores {
		for range 3 {
			wg.Go(func() { serve(ctx, claims, s) })
		}
	}
	for range nThreads {
		<-half
	}
	disturb()
	writers.Wait()
	for i := range nThreads {
		waitForAll(ctx, t, stores[len(stores)-1], threadOf(i), each)
	}
	stop()
	wg.Wait()
}

func threadOf(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: fmt.Sprintf("C%d", i), Root: "1"}
}

func putUntilDone(ctx context.Context, t *testing.T, s *Store, i, n int) {
	for ctx.Err() == nil {
		_, err := s.Put(ctx, threadOf(i), text(fmt.Sprint(n)), fmt.Sprintf("%d-%d", i, n))
		if err == nil {
			return
		}
		_ = sleep(ctx, 10*time.Millisecond)
	}
	t.Error("an entry could not be put")
}

// serve does what a run loop does with errors: it commits once more, then
// gives the thread up.
func serve(ctx, claims context.Context, s *Store) {
	for claims.Err() == nil {
		run, err := s.Next(claims, "slack")
		if err != nil {
			_ = sleep(claims, 10*time.Millisecond)
			continue
		}
		for more := true; more && err == nil; {
			if _, err = s.Commit(ctx, run, memory.Ended{Turn: 1}); err != nil {
				_, err = s.Commit(ctx, run, memory.Ended{Turn: 1})
			}
			if err == nil {
				more, err = s.Finish(ctx, run, time.Time{})
			}
		}
		if err != nil {
			_ = s.Handoff(ctx, run)
		}
	}
}

// waitForAll waits until the log holds every message, and checks that each is
// there once and in order.
func waitForAll(ctx context.Context, t *testing.T, s *Store, th chat.ThreadID, want int) {
	t.Helper()
	var got []string
	for len(got) < want {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			t.Fatalf("%v has %d of %d messages", th, len(got), want)
		}
		log, err := s.Read(ctx, th)
		if err != nil {
			continue
		}
		got = nil
		for i, e := range log {
			if e.Seq != 0 && e.Seq != uint64(i)+1 {
				t.Fatalf("%v: entry %d has Seq %d", th, i, e.Seq)
			}
			if m, ok := e.Body.(memory.Message); ok && e.Seq != 0 {
				got = append(got, m.Text)
			}
		}
	}
	for i, m := range got {
		if m != fmt.Sprint(i) {
			t.Fatalf("%v: message %d is %q", th, i, m)
		}
	}
}

// A server that is killed and comes back costs nothing but the time.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendfsync", "always")
	var stores []*Store
	for range 2 {
		stores = append(stores, openStore(t, server.URL(), Options{Lease: time.Second, Logger: quiet}))
	}
	traffic(t, stores, func() {
		for range 2 {
			server.Kill(t)
			ctx := within(t)
			if err := stores[0].Ping(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("Ping of a dead server: %v, want an error long before its time is over", err)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := stores[0].Put(short, someThread, text("lost")); err == nil {
				t.Error("Put to a dead server: no error")
			}
			cancel()
			server.Restart(t)
		}
	})
}

var quiet = slog.New(slog.DiscardHandler)

// When a master dies, its replica takes its place, found by way of a sentinel.
func TestFailover(t *testing.T) {
	notShort(t)
	t.Parallel()
	master := redistest.Start(t)
	master.Replica(t)
	url := "redis+sentinel://" + master.Sentinel(t, 1).Addr() + "/main"
	s := openStore(t, url, Options{Lease: time.Second, Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	if _, err := s.Commit(within(t), run, memory.Started{Call: "1.1"}); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	master.Kill(t)
	ctx := within(t)
	for {
		_, err := s.Put(ctx, someThread, text("two"), "e2")
		if err == nil {
			break
		}
		if sleep(ctx, 50*time.Millisecond) != nil {
			t.Fatalf("Put: %v", err)
		}
	}
	if _, err := s.Commit(within(t), run, memory.Ended{Turn: 1}); err != nil && !errors.Is(err, memory.ErrFenced) {
		t.Fatalf("Commit: %v", err)
	}
	if err := s.Handoff(within(t), run); err != nil && !errors.Is(err, memory.ErrFenced) {
		t.Fatalf("Handoff: %v", err)
	}
	run = mustClaim(t, s)
	if len(run.Log) < 3 || run.Log[1].Body != (memory.Started{Call: "1.1"}) {
		t.Errorf("log %v, want what was committed with Started", run.Log)
	}
}

// A server that lost its scripts and streams gets them again.
func TestServerForgets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	if _, err := s.Finish(within(t), mustClaim(t, s), time.Time{}); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	c := server.Client(t)
	if err := c.ScriptFlush(within(t)).Err(); err != nil {
		t.Fatalf("flush scripts: %v", err)
	}
	if err := c.FlushAll(within(t)).Err(); err != nil {
		t.Fatalf("flush keys: %v", err)
	}
	mustPut(t, s, text("two"))
	if got := mustClaim(t, s).Log[0]; got.Seq != 1 {
		t.Errorf("first entry %v, want Seq 1", got)
	}
}

// A side effect's Started has to be on a replica, where there is one. When it
// is not, Commit says so; the same commit may be tried again.
func TestReplicaFallsShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	replica := server.Replica(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	started := memory.Started{Call: "1.1", Tool: "deploy"}
	replica.Pause(t)
	if _, err := s.Commit(within(t), run, started); !errors.Is(err, errReplicas) {
		t.Errorf("Commit: %v, want %v", err, errReplicas)
	}
	if len(run.Log) != 1 {
		t.Errorf("%d entries in the run's log, want 1", len(run.Log))
	}
	replica.Resume(t)
	confirmed := func(b memory.Body) { // on a slow machine a replica may take longer than a commit waits
		t.Helper()
		_, err := s.Commit(within(t), run, b)
		for errors.Is(err, errReplicas) {
			_, err = s.Commit(within(t), run, b)
		}
		if err != nil {
			t.Errorf("the same commit again: %v", err)
		}
	}
	confirmed(started)
	confirmed(memory.Ended{Turn: 1})
	log, err := s.Read(within(t), someThread)
	if err != nil || len(log) != 3 || log[1].Body != started {
		t.Errorf("Read = %v, %v, want Started once", log, err)
	}

	replica.Pause(t)
	if _, err := s.Commit(within(t), run, memory.Started{Call: "1.2"}); !errors.Is(err, errReplicas) {
		t.Errorf("Commit: %v, want %v", err, errReplicas)
	}
	replica.Resume(t)
	if _, err := s.Commit(within(t), run, memory.Ended{Turn: 2}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("another commit: %v, want %v", err, memory.ErrFenced)
	}
	if again := mustClaim(t, s); len(again.Log) != 4 {
		t.Errorf("claimed with %d entries, want 4", len(again.Log))
	}
}

// A run hears that its lease is lost.
func TestLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Lease: time.Second, Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	// As if the process had been paused until another took over.
	_, err := s.run(within(t), handoffScript, shardOfThread(run.Thread), run.Thread.String(), run.Token, "other", 1000)
	if err != nil {
		t.Fatalf("hand off: %v", err)
	}
	lost := make(chan struct{}, 9)
	run.Bell.Listen(func() {
		if _, gone := run.Bell.Take(); gone {
			lost <- struct{}{}
		}
	})
	select {
	case <-lost:
	case <-within(t).Done():
		t.Fatal("the run is not told")
	}
	if _, err := s.Commit(within(t), run); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want %v", err, memory.ErrFenced)
	}
}

// A killed process's threads go on at once with the next process of the machine, not
// after the lease. Another process keeps its threads.
func TestKilledOnThisMachine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	of := func(process string) Options {
		return Options{Lease: time.Hour, Logger: quiet, Process: process, Ended: func(p string) bool { return p == "killed" }}
	}
	alive, killed := openStore(t, server.URL(), of("alive")), openStore(t, server.URL(), of("killed"))
	held, handed, others := threadOf(1), threadOf(2), threadOf(3)
	put := func(th chat.ThreadID) {
		if _, err := alive.Put(within(t), th, text("one")); err != nil {
			t.Fatalf("Put: %v", err)
		}
	}
	put(others)
	run := mustClaim(t, alive)
	put(held)
	mustClaim(t, killed)
	put(handed)
	f, err := killed.feedOf([]string{"slack"})
	if err != nil {
		t.Fatalf("feed: %v", err)
	}
	if _, err := killed.waitForOffer(within(t), f); err != nil {
		t.Fatalf("take: %v", err)
	}
	crash(t, killed)

	next := openStore(t, server.URL(), of("next"))
	got := map[chat.ThreadID]bool{mustClaim(t, next).Thread: true, mustClaim(t, next).Thread: true}
	if !got[held] || !got[handed] {
		t.Errorf("claimed %v, want %v and %v", got, held, handed)
	}
	if run.Bell.Lost() {
		t.Error("a process that lives lost its thread")
	}
	state, err := next.cmd.HGet(within(t), next.keys.key(shardOfThread(others), "t", others.String()), "s").Result()
	if err != nil || state != "h" {
		t.Errorf("the thread of a process that lives is %q, %v, want held", state, err)
	}
	for i := range shards {
		n, err := next.cmd.HExists(within(t), next.keys.own(i, "where"), killed.words.self).Result()
		if err != nil || n {
			t.Errorf("shard %d still says where the killed process ran: %t, %v", i, n, err)
		}
	}
}

// A machine that slept, whose processes' own clock stood still meanwhile, may have
// lost the thread: before or after it heard that it has it.
func TestDoubtAfterSleep(t *testing.T) {
	t.Parallel()
	s := openStore(t, redistest.Start(t).URL(), Options{Lease: time.Minute, Logger: quiet})
	var slept atomic.Int64
	crash(t, s) // nobody beats
	s.wall = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
	claim := func() *memory.Run {
		t.Helper()
		mustPut(t, s, text("one"))
		name, shard := someThread.String(), shardOfThread(someThread)
		id, err := s.cmd.HGet(within(t), s.keys.key(shard, "t", name), "q").Result()
		if err != nil {
			t.Fatalf("find the ready entry: %v", err)
		}
		run, err := s.claim(within(t), offer{shard: shard, thread: name, id: id})
		if err != nil || run == nil {
			t.Fatalf("claim: %v, %v", run, err)
		}
		return run
	}
	run := claim()
	if run.Doubt() {
		t.Error("there is doubt right after a claim")
	}
	slept.Add(int64(time.Hour))
	if !run.Doubt() {
		t.Error("there is no doubt after an hour of sleep")
	}
	if err := s.beatShard(within(t), shardOfThread(someThread), nil); err != nil || run.Doubt() {
		t.Errorf("there is doubt still after a beat that was answered: %v", err)
	}
	if err := s.Handoff(within(t), run); err != nil {
		t.Fatalf("Handoff: %v", err)
	}
	s.cmd.AddHook(after{claimScript.Hash(), func() { slept.Add(int64(time.Hour)) }})
	if run := claim(); !run.Doubt() {
		t.Error("there is no doubt after a claim whose answer was read an hour later")
	}
}

// after does something between a script and its answer.
type after struct {
	script string
	do     func()
}

func (a after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a after) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && args[1] == a.script {
			a.do()
		}
		return err
	}
}

// A beat renews no lease of another claim, and tells the run that it is lost.
func TestBeatOfALostLease(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := openStore(t, srv.URL(), Options{Logger: quiet, Lease: time.Hour})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	s.stop() // it beats when the test says so
	h, err := s.heldBy(run)
	if err != nil {
		t.Fatal(err)
	}
	server := srv.Client(t)
	due := func() float64 {
		t.Helper()
		at, err := server.ZScore(within(t), s.keys.own(h.shard, "due"), h.thread).Result()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	set := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set(server.ZAdd(within(t), s.keys.own(h.shard, "due"), redis.Z{Score: 1, Member: h.thread}).Err())
	set(s.beatShard(within(t), h.shard, []*held{h}))
	if due() == 1 {
		t.Error("its own lease was not renewed")
	}
	set(server.HSet(within(t), s.keys.key(h.shard, "t", h.thread), "k", "another").Err())
	set(server.ZAdd(within(t), s.keys.own(h.shard, "due"), redis.Z{Score: 1, Member: h.thread}).Err())
	set(s.beatShard(within(t), h.shard, []*held{h}))
	if at := due(); at != 1 {
		t.Errorf("the lease of another claim was renewed until %v", at)
	}
	if _, lost := run.Bell.Take(); !lost {
		t.Error("the run does not know that it is lost")
	}
}
