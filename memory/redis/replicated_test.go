package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/internal/redistest"
	"nod/internal/storetest"
	"nod/memory"
)

// crew puts messages and runs a side effect for each, as agent/run does. It repeats
// failures, and leaves final refusals to the next holder.
type crew struct {
	t       *testing.T
	ctx     context.Context
	mu      sync.Mutex
	effects map[string]int // message → how often its side effect ran
}

func (c *crew) put(s *Store, thread chat.ThreadID, text string) {
	for c.ctx.Err() == nil {
		body := memory.Message{Message: chat.Message{Text: text}}
		if _, err := s.Put(c.ctx, thread, body, text); err == nil {
			return
		}
		_ = sleep(c.ctx, 10*time.Millisecond)
	}
	c.t.Errorf("%s could not be put", text)
}

func (c *crew) serve(claims context.Context, s *Store) {
	for claims.Err() == nil {
		run, err := s.Next(claims, "slack")
		if err != nil {
			_ = sleep(claims, 10*time.Millisecond)
			continue
		}
		c.drive(s, run)
	}
}

// drive runs what was not begun, until there is nothing more to do or the run is
// fenced.
func (c *crew) drive(s *Store, run *memory.Run) {
	for more := true; more && c.ctx.Err() == nil; {
		for call := next(run.Log); call != ""; call = next(run.Log) {
			if c.until(func() error { _, err := s.Commit(c.ctx, run, memory.Started{Call: call}); return err }) != nil {
				return
			}
			c.mu.Lock()
			c.effects[call]++
			c.mu.Unlock()
			if c.until(func() error { _, err := s.Commit(c.ctx, run, memory.Result{Call: call}); return err }) != nil {
				return
			}
		}
		err := c.until(func() (err error) { more, err = s.Finish(c.ctx, run, time.Time{}); return err })
		if err == nil && more {
			err = c.until(func() error { _, err := s.Commit(c.ctx, run); return err })
		}
		if err != nil {
			return
		}
	}
}

// until repeats what fails. The error is ErrFenced.
func (c *crew) until(f func() error) error {
	for {
		err := f()
		if err == nil || errors.Is(err, memory.ErrFenced) || c.ctx.Err() != nil {
			return err
		}
		_ = sleep(c.ctx, 10*time.Millisecond)
	}
}

// next gives a message of which nothing was begun.
func next(log []memory.Entry) string {
	begun := map[string]bool{}
	for _, e := range log {
		if b, ok := e.Body.(memory.Started); ok {
			begun[b.Call] = true
		}
	}
	for _, e := range log {
		if b, ok := e.Body.(memory.Message); ok && !begun[b.Text] {
			return b.Text
		}
	}
	return ""
}

// onceEach has two processes run a side effect for each of many messages, while
// disturb runs, and for a while after it: each message that was taken is in the
// log, and each side effect ran once.
func onceEach(t *testing.T, url string, disturb func()) {
	t.Helper()
	const threads, before, after = 6, 20, 20
	c := &crew{t: t, ctx: within(t), effects: map[string]int{}}
	var stores []*Store
	for range 2 {
		stores = append(stores, openStore(t, url, Options{Lease: 5 * time.Second, Logger: quiet}))
	}
	claims, stop := context.WithCancel(c.ctx)
	defer stop()
	var writers, servers sync.WaitGroup
	begun, done := make(chan struct{}, threads), make(chan struct{})
	var put [threads]int
	for i := range threads {
		writers.Go(func() {
			for rest := after; rest > 0 && c.ctx.Err() == nil; put[i]++ {
				c.put(stores[i%2], threadOf(i), fmt.Sprintf("%d-%d", i, put[i]))
				if put[i] == before {
					begun <- struct{}{}
				}
				select {
				case <-done:
					rest--
				case <-time.After(2 * time.Millisecond):
				}
			}
		})
	}
	for _, s := range stores {
		for range 3 {
			servers.Go(func() { c.serve(claims, s) })
		}
	}
	for range threads {
		<-begun
	}
	disturb()
	close(done)
	writers.Wait()
	all := 0
	for _, n := range put {
		all += n
	}
	for ran := 0; ran < all && sleep(c.ctx, 20*time.Millisecond) == nil; {
		c.mu.Lock()
		ran = len(c.effects)
		c.mu.Unlock()
	}
	stop()
	servers.Wait()
	for i, n := range put {
		c.judge(stores[0], i, n)
	}
}

func (c *crew) judge(s *Store, i, each int) {
	c.t.Helper()
	log, err := s.Read(within(c.t), threadOf(i))
	if err != nil {
		c.t.Fatalf("Read: %v", err)
	}
	begun := map[string]int{}
	for _, e := range log {
		if b, ok := e.Body.(memory.Started); ok {
			begun[b.Call]++
		}
	}
	for n := range each {
		call := fmt.Sprintf("%d-%d", i, n)
		if c.effects[call] != 1 || begun[call] != 1 {
			c.t.Errorf("the side effect of %s (of %d) ran %d times, and the log says %d", call, each, c.effects[call], begun[call])
		}
	}
}

// replaced waits until a master follows another.
func replaced(t *testing.T, master *redistest.Server) {
	t.Helper()
	c, ctx := master.Client(t), within(t)
	for {
		role, err := c.Do(ctx, "role").Slice()
		if err == nil && role[0] == "slave" {
			return
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			t.Fatalf("the master is not replaced: %v", err)
		}
	}
}

// promoted waits until a replica is a master.
func promoted(t *testing.T, replica *redistest.Server) {
	t.Helper()
	c, ctx := replica.Client(t), within(t)
	for {
		if role, err := c.Do(ctx, "role").Slice(); err == nil && role[0] == "master" {
			return
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			t.Fatal("the replica is not promoted")
		}
	}
}

// A sentinel replaces a master that lives: what the old one goes on taking for a
// moment is not taken for done.
func TestPlannedFailover(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	master.Replica(t)
	sentinel := master.Sentinel(t, 1)
	onceEach(t, "redis+sentinel://"+sentinel.Addr()+"/main", func() {
		do(t, sentinel, "sentinel", "failover", "main")
		replaced(t, master)
	})
}

// The same with two replicas, all of which are wanted.
func TestPlannedFailoverOfThree(t *testing.T) {
	long(t)
	t.Parallel()
	master := redistest.Start(t)
	master.Replica(t)
	master.Replica(t)
	sentinel := master.Sentinel(t, 2)
	onceEach(t, "redis+sentinel://"+sentinel.Addr()+"/main?replicas=2", func() {
		do(t, sentinel, "sentinel", "failover", "main")
		replaced(t, master)
	})
}

// A master dies that was cut off from its replica before: what it took meanwhile
// was not taken for kept.
func TestFailoverAfterACut(t *testing.T) {
	notShort(t)
	t.Parallel()
	master := redistest.Start(t)
	replica := master.Replica(t)
	sentinel := master.Sentinel(t, 1)
	onceEach(t, "redis+sentinel://"+sentinel.Addr()+"/main", func() {
		replica.Pause(t)
		do(t, master, "client", "kill", "type", "replica")
		<-time.After(300 * time.Millisecond) // of writes that nobody has but the master
		master.Kill(t)
		replica.Resume(t)
		promoted(t, replica)
	})
}

// An entry that can't reach a replica is not acknowledged, though the server has it.
// Once it is there, it is acknowledged, and exists once.
func TestPutWaitsForReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	replica := server.Replica(t)
	s := openStore(t, server.URL()+"?replicas=1", Options{Logger: quiet})
	replica.Pause(t)
	put := func(patience time.Duration) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return s.Put(ctx, someThread, text("one"), "e1")
	}
	for range 2 { // the second time the event is known already
		if _, err := put(1500 * time.Millisecond); err == nil {
			t.Error("Put: no error while no replica has it")
		}
	}
	replica.Resume(t)
	if _, err := put(storetest.Patience); err != nil {
		t.Errorf("Put: %v", err)
	}
	if log := mustClaim(t, s).Log; len(log) != 1 {
		t.Errorf("log %v, want the message once", log)
	}
}

// Nothing is posted or done by a commit that is on one server alone: were that taken for
// dead, nobody would know of the post, and make it again. What is only noted need not wait.
func TestCommitWaitsForReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	replica := server.Replica(t)
	s := openStore(t, server.URL()+"?replicas=1", Options{Logger: quiet})
	if _, err := s.Put(within(t), someThread, text("one"), "e1"); err != nil {
		t.Fatal(err)
	}
	run := mustClaim(t, s)
	replica.Pause(t)
	commit := func(b memory.Body, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := s.Commit(ctx, run, b)
		return err
	}
	if err := commit(memory.Posted{Key: "steps/1"}, storetest.Patience); err != nil {
		t.Errorf("Commit of what was posted: %v", err)
	}
	if err := s.Ping(within(t)); !errors.Is(err, errReplicas) {
		t.Errorf("Ping = %v while no replica confirms, want %v: nothing can be acknowledged", err, errReplicas)
	}
	for _, b := range []memory.Body{
		memory.Step{Turn: 1, N: 1, Answer: "It is so."}, memory.Asked{Call: "1-1-1"}, memory.Started{Call: "1-1-1"},
	} {
		if err := commit(b, 1500*time.Millisecond); err == nil {
			t.Errorf("Commit of %s: no error while no replica has it", b.Kind())
		}
		replica.Resume(t)
		if err := commit(b, storetest.Patience); err != nil {
			t.Errorf("Commit of %s: %v", b.Kind(), err)
		}
		replica.Pause(t)
	}
	replica.Resume(t)
}

// Fewer replicas than the URL wants are a mistake at the start.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if _, err := Open(within(t), server.URL()+"?replicas=1", Options{Logger: quiet}); err == nil || !strings.Contains(err.Error(), "has 0") {
		t.Errorf("Open: %v, want that there is no replica", err)
	}
	server.Replica(t)
	lines, err := Check(within(t), server.URL(), Options{})
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "min-replicas-to-write") {
		t.Errorf("Check = %q, %v, want a word on min-replicas-to-write", lines, err)
	}
}

// Sentinels may have a password of their own, and say so when they know no such
// master.
func TestSentinels(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sentinel := server.Sentinel(t, 0, "watch")
	url := "redis+sentinel://" + sentinel.Addr()
	s := openStore(t, url+"/main?sentinel_password=watch", Options{Logger: quiet})
	mustPut(t, s, text("one"))
	for at, want := range map[string]string{
		"/other?sentinel_password=watch": `the sentinels know no master "other"`,
		"/main":                          "NOAUTH",
	} {
		if _, err := Check(within(t), url+at, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want %q", err, want)
		}
	}
}

// One server of a cluster stands still: the leases of the others go on, and what
// they hold is not given away.
func TestOneOfAClusterStandsStill(t *testing.T) {
	notShort(t)
	t.Parallel()
	nodes := redistest.Cluster(t, 3)
	var hosts []string
	for _, n := range nodes {
		do(t, n, "config", "set", "cluster-require-full-coverage", "no")
		do(t, n, "config", "set", "cluster-node-timeout", "60000")
		hosts = append(hosts, n.Addr())
	}
	url := "redis+cluster://" + strings.Join(hosts, ",")
	const lease = 4 * time.Second
	s := openStore(t, url, Options{Lease: lease, Logger: quiet})
	runs := map[chat.ThreadID]*memory.Run{}
	for i := range 24 {
		if _, err := s.Put(within(t), threadOf(i), text("one")); err != nil {
			t.Fatalf("Put: %v", err)
		}
		run := mustClaim(t, s)
		runs[run.Thread] = run
	}
	other := openStore(t, url, Options{Lease: lease, Logger: quiet})
	alive := func(th chat.ThreadID) bool {
		c, err := s.master(within(t), shardOfThread(th))
		return err == nil && c.Options().Addr != nodes[0].Addr()
	}
	on := map[chat.ThreadID]bool{}
	for th := range runs {
		on[th] = alive(th)
	}
	nodes[0].Pause(t)
	defer nodes[0].Resume(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*lease)
	defer cancel()
	if run, err := other.Next(ctx, "slack"); err == nil && on[run.Thread] {
		t.Errorf("another process is given %v, which is held", run.Thread)
	}
	for th, run := range runs {
		if _, lost := run.Bell.Take(); lost && on[th] {
			t.Errorf("the lease of %v is lost", th)
		}
		if !on[th] {
			continue
		}
		if _, err := s.Commit(within(t), run, memory.Ended{Turn: 1}); err != nil {
			t.Errorf("Commit to %v: %v", th, err)
		}
	}
}

// A server of a cluster dies, and its replica takes its place: nod goes on as
// soon as the cluster does, and not a minute later.
func TestClusterFailover(t *testing.T) {
	long(t)
	t.Parallel()
	nodes := redistest.Cluster(t, 3)
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	replica := nodes[0].ClusterReplica(t)
	onceEach(t, "redis+cluster://"+strings.Join(hosts, ","), func() {
		nodes[0].Kill(t)
		promoted(t, replica)
	})
}

// While a slot of a cluster moves from one server to another, some of a shard's keys
// are here and some there: nothing is read or written until all are in one place.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	nodes := redistest.Cluster(t, 3)
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	s := openStore(t, "redis+cluster://"+strings.Join(hosts, ","), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	mustCommit(t, s, run, memory.Ended{Turn: 1})

	shard := shardOfThread(someThread)
	m := startMove(t, s, nodes, shard)
	m.key(s.keys.own(shard, "format")) // with these alone it looks like a shard in which nothing is
	m.key(s.keys.own(shard, "former"))
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Put(short, someThread, text("two")); err == nil {
		t.Error("Put: no error")
	}
	if _, err := s.Commit(within(t), run, memory.Ended{Turn: 2}); err == nil || errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want an error after which it may be tried again", err)
	} else if !isTransient(errors.Unwrap(err)) || isDamaged(errors.Unwrap(err)) {
		t.Errorf("%v is not told from a damaged thread", err)
	}
	if log, err := s.Read(within(t), someThread); err == nil {
		t.Errorf("Read = %v, though the log is elsewhere", log)
	}
	if err := s.Ping(within(t)); err == nil || !strings.Contains(err.Error(), "being moved") {
		t.Errorf("Ping: %v, want it to say why nothing is written", err)
	}

	m.rest()
	mustCommit(t, s, run, memory.Ended{Turn: 2})
	wantLog(t, s, run)
	mustPut(t, s, text("two"))
	if log, err := s.Read(within(t), someThread); err != nil || len(log) != 4 {
		t.Errorf("Read = %v, %v, want 4 entries", log, err)
	}
}

// moving moves a shard of a cluster from the server that has it to another one.
type moving struct {
	t        *testing.T
	nodes    []*redistest.Server
	from, to *redis.Client
	slot     int64
	id       string // of the server that it goes to
}

func startMove(t *testing.T, s *Store, nodes []*redistest.Server, shard int) *moving {
	t.Helper()
	has, err := s.master(within(t), shard)
	if err != nil {
		t.Fatalf("find the shard: %v", err)
	}
	m := &moving{t: t, nodes: nodes}
	for _, n := range nodes {
		if n.Addr() == has.Options().Addr {
			m.from = n.Client(t)
		} else {
			m.to = n.Client(t)
		}
	}
	m.slot, m.id = m.from.ClusterKeySlot(within(t), s.keys.tag(shard)).Val(), m.to.ClusterMyID(within(t)).Val()
	m.do(m.to, "cluster", "setslot", m.slot, "importing", m.from.ClusterMyID(within(t)).Val())
	m.do(m.from, "cluster", "setslot", m.slot, "migrating", m.id)
	return m
}

func (m *moving) do(c *redis.Client, args ...any) {
	m.t.Helper()
	if err := c.Do(within(m.t), args...).Err(); err != nil {
		m.t.Fatalf("%v: %v", args, err)
	}
}

// key moves one key.
func (m *moving) key(name string) {
	m.t.Helper()
	host, port, _ := strings.Cut(m.to.Options().Addr, ":")
	if err := m.from.Migrate(within(m.t), host, port, name, 0, time.Minute).Err(); err != nil {
		m.t.Fatalf("move %s: %v", name, err)
	}
}

// rest moves what is left.
func (m *moving) rest() {
	m.t.Helper()
	for _, name := range m.from.ClusterGetKeysInSlot(within(m.t), int(m.slot), 1000).Val() {
		m.key(name)
	}
	m.do(m.to, "cluster", "setslot", m.slot, "node", m.id)
	for _, n := range m.nodes {
		m.do(n.Client(m.t), "cluster", "setslot", m.slot, "node", m.id)
	}
}
