package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/fakeslack"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

// How much there is of what grows.
const (
	loadLong    = 5_000   // messages of a thread
	loadThreads = 100_000 // in the store
	loadParked  = 10_000  // approvals that wait
	loadRooms   = 20      // channels that those were asked in
	loadSettle  = 10 * time.Second
)

// TestLoadScale measures what grows: a thread, threads, and approvals that wait. Like
// TestLoad it has the program as a process of its own.
func TestLoadScale(t *testing.T) {
	if !*underLoad {
		t.Skip("make load")
	}
	defer scrap()
	for _, part := range []struct {
		name, head string
		platforms  []string
		measure    func(*loadRig) string
	}{
		{"thread", "a thread of 5,000 messages against a fresh one: p50 ms | CPU ms | ratios", []string{"slack", "discord"}, (*loadRig).long},
		{"threads", "100,000 threads: first answer after the start ms | CPU ms of looking then, of connecting again | MB", []string{"slack"}, (*loadRig).crowded},
		{"approvals", "10,000 approvals wait: MB more than idle | CPU ms of 100 more | answered so many ms after the start under Slack's published limits,\n" +
			"who asked while the program was down: in a channel, in an old thread, where nothing was ever heard", []string{"slack"}, (*loadRig).parked},
		{"steps", "60 questions with a tool at once under Slack's published limits, of which 50 edits a minute matter: last answer s | last steps in their last form s | calls refused", []string{"slack"}, (*loadRig).limited},
	} {
		t.Run(part.name, func(t *testing.T) {
			fmt.Printf("\n%s\n", part.head)
			for _, platform := range part.platforms {
				for _, store := range []string{"sqlite", "redis"} {
					t.Run(platform+" "+store, func(t *testing.T) {
						fmt.Printf("%-7s %-6s | %s\n", platform, store, part.measure(newLoad(t, platform, store)))
					})
				}
			}
		})
	}
}

// loadText is a message as long as people's are.
const loadText = "hello, I looked at the dashboards of yesterday and of the day before, and the third service from the top was slow again around noon"

// long is a question in a thread of thousands of messages, beside one in a fresh one.
func (l *loadRig) long() string {
	l.begin()
	defer func() { l.p.kill() }()
	l.singly("hello", "You said so", 20)
	at := l.w.mention("ada", loadText)
	l.await(at, "You said so")
	for range loadLong / 2 {
		l.turn(func() { l.w.mentionIn("ada", at, loadText) })
	}
	fresh := l.turns(func() { l.w.mention("ada", loadText) })
	long := l.turns(func() { l.w.mentionIn("ada", at, loadText) })
	return fmt.Sprintf("%.1f %.1f | %.1f %.1f | %.2f× %.2f×", ms(fresh.p50), ms(long.p50), ms(fresh.cpu), ms(long.cpu),
		float64(long.p50)/float64(fresh.p50), float64(long.cpu)/float64(fresh.cpu))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// turns makes turns, one after the other.
func (l *loadRig) turns(say func()) loadTimes {
	const n = 50
	var took []time.Duration
	cpu := l.cpu()
	for range n {
		took = append(took, l.turn(say))
	}
	slices.Sort(took)
	return loadTimes{took[n/2], took[n*99/100], (l.cpu() - cpu) / n}
}

// turn has something said, and waits for one more post, whatever it says: to look
// into a thread would take longer in a long one.
func (l *loadRig) turn(say func()) time.Duration {
	l.t.Helper()
	before, began := l.posted(), time.Now()
	say()
	for until := began.Add(patience); l.posted() == before; <-time.After(100 * time.Microsecond) {
		if time.Now().After(until) {
			l.t.Fatalf("no answer\n%s", l.p.out)
		}
	}
	return time.Since(began)
}

// posted is how many messages the bot has posted.
func (l *loadRig) posted() int {
	switch w := l.w.(type) {
	case *slackWorld:
		return len(w.s.Calls("chat.postMessage"))
	case *discordWorld:
		return len(w.s.Calls("POST /channels/{channel}/messages"))
	}
	return 0
}

// crowded starts the program with very many threads in its store, and has its
// connections cut.
func (l *loadRig) crowded() string {
	l.begin()
	l.await(l.w.mention("ada", "hello"), "You said so")
	l.p.kill()
	l.fill(loadThreads)
	began := time.Now()
	l.begin()
	defer func() { l.p.kill() }()
	l.await(l.w.mention("ada", "hello"), "You said so")
	first, cpu := time.Since(began), l.cpu()
	<-time.After(loadSettle)
	looked := l.cpu()
	l.w.cut()
	l.await(l.w.mention("ada", "hello"), "You said so")
	<-time.After(loadSettle)
	return fmt.Sprintf("%.0f | %.0f %.0f | %.0f", ms(first), ms(looked-cpu), ms(l.cpu()-looked), l.resident())
}

// fill puts threads into the store as the program left them when it had answered, an
// hour ago; but for Redis, whose clock is its own.
func (l *loadRig) fill(n int) {
	l.t.Helper()
	ago := func() time.Time { return time.Now().Add(-time.Hour) }
	store := l.open(ago)
	team := l.team(store)
	began := ago().Unix()
	all := make(chan int)
	var done sync.WaitGroup
	for range 64 {
		done.Go(func() {
			for i := range all {
				l.leave(store, chat.ThreadID{
					Platform: "slack", Channel: fmt.Sprintf("%s:C5%04d", team, i%loadRooms), Root: fmt.Sprintf("%d.%06d", began+int64(i/100), i%1e6),
				})
			}
		})
	}
	for i := range n {
		all <- i
	}
	close(all)
	done.Wait()
	if err := store.Close(); err != nil {
		l.t.Fatal(err)
	}
}

// team is the workspace, as the ids of threads name it.
func (l *loadRig) team(store memory.Full) string {
	l.t.Helper()
	for m, err := range store.Watermarks(l.t.Context(), "slack", time.Time{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		team, _, _ := strings.Cut(m.Thread.Channel, ":")
		return team
	}
	l.t.Fatal("the store has no thread")
	return ""
}

// leave leaves a thread with a question and its answer; or another one like it, as
// the store says which is next.
func (l *loadRig) leave(store memory.Full, id chat.ThreadID) {
	at, _ := strconv.ParseInt(id.Root[:10], 10, 64)
	m := chat.Message{
		Ref: chat.MessageRef{Platform: id.Platform, Channel: id.Channel, ID: id.Root}, From: chat.User{ID: "U0ADA", Name: "ada"}, Text: "hello", Sent: time.Unix(at, 0),
	}
	_, err := store.Put(l.t.Context(), id, memory.Message{Message: m}, "fill:"+id.Root)
	if err != nil {
		l.t.Error(err)
		return
	}
	r, err := store.Next(l.t.Context(), "slack")
	if err != nil {
		l.t.Error(err)
		return
	}
	ref := chat.MessageRef{Platform: id.Platform, Channel: r.Thread.Channel, ID: r.Thread.Root + "1"}
	_, err = store.Commit(l.t.Context(), r, memory.Opened{Turn: 1}, memory.Step{Turn: 1, N: 1, Answer: "You said so"}, memory.Posted{Key: "answer/1", Ref: ref}, memory.Ended{Turn: 1})
	if err == nil {
		_, err = store.Finish(l.t.Context(), r, time.Time{})
	}
	if err != nil {
		l.t.Error(err)
	}
}

// open opens the program's store, which nobody else may have open.
func (l *loadRig) open(now func() time.Time) memory.Full {
	l.t.Helper()
	var s memory.Full
	var err error
	if l.redis != "" {
		s, err = redis.Open(l.t.Context(), l.redis, redis.Options{})
	} else {
		s, err = sqlite.Open(l.t.Context(), filepath.Join(filepath.Dir(l.n.file), "nod.db"), sqlite.Options{Now: now})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// parked parks very many approvals, and has people ask while the program is down,
// which then starts under the limits that Slack publishes.
func (l *loadRig) parked() string {
	w, _ := l.w.(*slackWorld)
	for i := range loadRooms + 1 {
		w.room(roomOf(i))
	}
	l.begin()
	l.singly("hello", "You said so", 20)
	old := l.inRoom(3, "hello")
	l.await(old, "You said so")
	l.settle()
	idle := l.resident()
	for i := 0; i < loadParked; i += 250 {
		l.park(i, 250)
	}
	cpu := l.cpu()
	l.park(loadParked, 100)
	more := l.cpu() - cpu
	<-time.After(3 * loadSettle)
	full := l.resident()
	l.p.kill()
	asked := []place{l.inRoom(7, "hello"), l.w.mentionIn("ada", old, "hello again"), l.inRoom(loadRooms, "hello")}
	within(l.t, 2*patience, "Slack gives up", func() bool { return w.s.Unacked() == 0 })
	text, err := os.ReadFile(l.n.file)
	if err == nil {
		err = os.WriteFile(l.n.file, []byte(strings.ReplaceAll(string(text), w.extra, "")), 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	began := time.Now()
	l.begin()
	defer func() { l.p.kill() }()
	took := make([]time.Duration, len(asked))
	within(l.t, 2*patience, "all are answered", func() bool {
		for i, at := range asked {
			if took[i] == 0 && l.n.count(at, "You said so") > i%2 { // the old thread had an answer before
				took[i] = time.Since(began)
			}
		}
		return !slices.Contains(took, 0)
	})
	return fmt.Sprintf("%.0f (%.0f in all) | %.0f | %.0f %.0f %.0f", full-idle, full, ms(more), ms(took[0]), ms(took[1]), ms(took[2]))
}

// park has people ask for something that has to be approved.
func (l *loadRig) park(from, n int) {
	l.t.Helper()
	var open []place
	for i := range n {
		open = append(open, l.inRoom((from+i)%loadRooms, "deploy"))
	}
	within(l.t, patience, "all is asked", func() bool {
		open = slices.DeleteFunc(open, func(at place) bool { return l.n.count(at, "pprove", "prod") > 0 })
		return len(open) == 0
	})
}

// limited has many people ask at once where Slack's limits are kept by both sides.
func (l *loadRig) limited() string {
	w := newSlackWorld(l.t, fakeslack.Options{})
	l = loadOn(l.t, w, l.who)
	l.begin()
	defer func() { l.p.kill() }()
	var open []place
	began := time.Now()
	for range 60 {
		open = append(open, l.ask("time"))
	}
	var answered, folded time.Duration
	within(l.t, 4*patience, "all are answered and all steps are in their last form", func() bool {
		missing := func(at place) bool { return l.n.count(at, "The tool says") == 0 }
		running := func(at place) bool { return l.n.count(at, "1 step ·") == 0 || !l.n.folded(at) }
		if answered == 0 && !slices.ContainsFunc(open, missing) {
			answered = time.Since(began)
		}
		folded = time.Since(began)
		return answered > 0 && !slices.ContainsFunc(open, running)
	})
	return fmt.Sprintf("%.1f | %.1f | %d", answered.Seconds(), folded.Seconds(), w.s.RateLimited())
}

func roomOf(i int) string { return fmt.Sprintf("C6%04d", i) }

// inRoom has somebody who never wrote before mention the bot in a channel.
func (l *loadRig) inRoom(room int, text string) place {
	w, _ := l.w.(*slackWorld)
	l.users++
	id := fmt.Sprintf("U%06d", l.users)
	w.users["user"+strconv.Itoa(l.users)] = id
	w.s.AddUser(fakeslack.User{ID: id, Name: "user" + id})
	w.s.Join(id, roomOf(room))
	ts := w.s.Say(id, roomOf(room), fakeslack.Mention+" "+text)
	return place{roomOf(room), ts, ts}
}
