package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	loadBreath  = 20 * time.Millisecond // in which a turn comes to its end: its last entries are written behind its answer
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
		{"thread", "a thread of 5,000 messages against a fresh one: p50 ms | CPU ms | ratios, one turn right behind the other; then the same with a breath between them", []string{"slack", "discord"}, (*loadRig).long},
		{"threads", "100,000 threads: first answer after the start ms | CPU ms of looking then, of connecting again | MB", []string{"slack", "discord"}, (*loadRig).crowded},
		{"approvals", "10,000 approvals wait: MB more than idle | CPU ms of 100 more | answered so many ms after the start under the published limits,\n" +
			"who asked while the program was down: in a channel, in an old thread, where nothing was ever heard;\n" +
			"on Discord so where the session goes on, and then where it is over", []string{"slack", "discord"}, (*loadRig).parked},
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
	l.singly("hello", "You said so", 20, 0)
	at := l.w.mention("ada", loadText)
	l.await(at, "You said so")
	for range loadLong / 2 {
		l.turn(func() { l.w.mentionIn("ada", at, loadText) })
	}
	return l.beside(at, 0) + " || " + l.beside(at, loadBreath)
}

// beside measures turns in fresh threads and in a long one, so far apart.
func (l *loadRig) beside(at place, apart time.Duration) string {
	fresh := l.turns(apart, func() { l.w.mention("ada", loadText) })
	long := l.turns(apart, func() { l.w.mentionIn("ada", at, loadText) })
	return fmt.Sprintf("%.1f %.1f | %.1f %.1f | %.2f× %.2f×", ms(fresh.p50), ms(long.p50), ms(fresh.cpu), ms(long.cpu),
		float64(long.p50)/float64(fresh.p50), float64(long.cpu)/float64(fresh.cpu))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// turns makes turns, one after the other, so far apart.
func (l *loadRig) turns(apart time.Duration, say func()) loadTimes {
	const n = 100
	defer l.quiet()()
	var took []time.Duration
	cpu := l.cpu()
	for range n {
		took = append(took, l.turn(say))
		<-time.After(apart)
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
	l.waitFor("no answer", func() bool { return l.posted() > before })
	return time.Since(began)
}

// posted is how many messages the bot has posted.
func (l *loadRig) posted() int {
	switch w := l.w.(type) {
	case *slackWorld:
		return w.s.Called("chat.postMessage")
	case *discordWorld:
		return w.s.Called("POST /channels/{channel}/messages")
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
	began := ago()
	all := make(chan int)
	var done sync.WaitGroup
	for range 64 {
		done.Go(func() {
			for i := range all {
				at := began.Add(time.Duration(i) * 10 * time.Millisecond)
				l.leave(store, l.oldThread(team, at, i), at)
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

// team is the workspace, as the ids of threads name it; Discord's name none.
func (l *loadRig) team(store memory.Full) string {
	l.t.Helper()
	for m, err := range store.Watermarks(l.t.Context(), l.platform(), time.Time{}, 1) {
		if err != nil {
			l.t.Fatal(err)
		}
		team, _, _ := strings.Cut(m.Thread.Channel, ":")
		return team
	}
	l.t.Fatal("the store has no thread")
	return ""
}

func (l *loadRig) platform() string {
	if _, ok := l.w.(*discordWorld); ok {
		return "discord"
	}
	return "slack"
}

// oldThread is a thread that began then, in one of some channels that are gone.
func (l *loadRig) oldThread(team string, at time.Time, i int) chat.ThreadID {
	if l.platform() == "discord" {
		const epoch = 1420070400000 // ids count milliseconds from there
		return chat.ThreadID{Platform: "discord", Channel: fmt.Sprintf("5%04d:%d", i%loadRooms, (at.UnixMilli()-epoch)<<22+int64(i%4096))}
	}
	return chat.ThreadID{Platform: "slack", Channel: fmt.Sprintf("%s:C5%04d", team, i%loadRooms), Root: fmt.Sprintf("%d.%06d", at.Unix(), i%1e6)}
}

// rootOf is the message that an old thread began with.
func rootOf(id chat.ThreadID) chat.MessageRef {
	_, root, _ := strings.Cut(id.Channel, ":")
	return chat.MessageRef{Platform: id.Platform, Channel: id.Channel, ID: cmp.Or(id.Root, root)}
}

// leave leaves a thread with a question and its answer; or another one like it, as
// the store says which is next.
func (l *loadRig) leave(store memory.Full, id chat.ThreadID, at time.Time) {
	m := chat.Message{Ref: rootOf(id), From: chat.User{ID: "U0ADA", Name: "ada"}, Text: "hello", Sent: at}
	_, err := store.Put(l.t.Context(), id, memory.Message{Message: m}, "fill:"+m.Ref.ID)
	if err != nil {
		l.t.Error(err)
		return
	}
	r, err := store.Next(l.t.Context(), id.Platform)
	if err != nil {
		l.t.Error(err)
		return
	}
	ref := rootOf(r.Thread)
	ref.ID += "1"
	_, err = store.Commit(l.t.Context(), r, memory.Opened{Turn: 1, Name: "1"}, memory.Step{Turn: 1, N: 1, Answer: "You said so"}, memory.Posted{Key: "answer/1", Ref: ref}, memory.Ended{Turn: 1})
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
// which then starts under the limits that the platform publishes.
func (l *loadRig) parked() string {
	rooms := l.rooms(loadRooms + 1)
	l.begin()
	l.singly("hello", "You said so", 20, 0)
	old := l.inRoom(rooms[3], "hello")
	l.await(old, "You said so")
	l.settle()
	idle := l.resident()
	for i := 0; i < loadParked; i += 250 {
		l.park(rooms, i, 250)
	}
	cpu := l.cpu()
	l.park(rooms, loadParked, 100)
	more := l.cpu() - cpu
	<-time.After(3 * loadSettle)
	full := l.resident()
	missed := l.missed(rooms, old, func() {})
	if w, ok := l.w.(*discordWorld); ok {
		rooms[loadRooms] = l.rooms(1)[0] // where nothing was ever heard
		missed += " | " + l.missed(rooms, old, w.s.ForgetSessions)
	}
	return fmt.Sprintf("%.0f (%.0f in all) | %.0f | %s", full-idle, full, ms(more), missed)
}

// missed ends the program, has people ask, and starts it under the limits that the
// platform publishes. It gives after how many milliseconds each is answered: who asks
// in a channel with approvals, in an old thread, and where nothing was ever heard.
func (l *loadRig) missed(rooms []string, old place, meanwhile func()) string {
	l.p.kill()
	before := l.n.count(old, "You said so")
	asked := []place{l.inRoom(rooms[7], "hello"), l.w.mentionIn("ada", old, "hello again"), l.inRoom(rooms[loadRooms], "hello")}
	if w, ok := l.w.(*slackWorld); ok {
		within(l.t, 2*patience, "Slack gives up", func() bool { return w.s.Unacked() == 0 })
	}
	meanwhile()
	l.limit()
	began := time.Now()
	l.spawn() // who asked does not wait until the program says that it is ready
	took := make([]time.Duration, len(asked))
	within(l.t, 4*patience, "all are answered", func() bool {
		for i, had := range []int{0, before, 0} {
			if took[i] == 0 && l.n.count(asked[i], "You said so") > had {
				took[i] = time.Since(began)
			}
		}
		return !slices.Contains(took, 0)
	})
	return fmt.Sprintf("%.0f %.0f %.0f", ms(took[0]), ms(took[1]), ms(took[2]))
}

// limit has the program keep to the limits that the platform publishes from its next
// start on.
func (l *loadRig) limit() {
	l.t.Helper()
	extra := ""
	switch w := l.w.(type) {
	case *slackWorld:
		extra = w.extra
	case *discordWorld:
		extra = w.extra
	}
	text, err := os.ReadFile(l.n.file)
	if err == nil {
		err = os.WriteFile(l.n.file, []byte(strings.ReplaceAll(string(text), extra, "")), 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// park has people ask for something that has to be approved.
func (l *loadRig) park(rooms []string, from, n int) {
	l.t.Helper()
	var open []place
	for i := range n {
		open = append(open, l.inRoom(rooms[(from+i)%loadRooms], "deploy"))
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

// rooms makes channels that the bot is in; on Discord in a guild each, since a guild
// holds a thousand active threads.
func (l *loadRig) rooms(n int) []string {
	l.t.Helper()
	var out []string
	for i := range n {
		switch w := l.w.(type) {
		case *slackWorld:
			out = append(out, fmt.Sprintf("C6%04d", i))
			w.room(out[i])
		case *discordWorld:
			g := w.s.AddGuild(fmt.Sprintf("guild %d", i), w.users["ada"])
			out = append(out, w.s.AddChannel(g, "general"))
			l.guilds[out[i]] = g
		}
	}
	return out
}

// inRoom has somebody who never wrote before mention the bot in a channel.
func (l *loadRig) inRoom(room, text string) (at place) {
	l.users++
	name := fmt.Sprintf("user%d", l.users)
	switch w := l.w.(type) {
	case *slackWorld:
		id := fmt.Sprintf("U%06d", l.users)
		w.users[name] = id
		w.s.AddUser(fakeslack.User{ID: id, Name: name})
		w.s.Join(id, room)
		ts := w.s.Say(id, room, fakeslack.Mention+" "+text)
		at = place{room, ts, ts}
	case *discordWorld:
		w.users[name] = w.s.AddUser(name, "")
		w.s.Join(l.guilds[room], w.users[name])
		id := w.s.Say(w.users[name], room, w.ping()+text)
		at = place{room, id, id}
	}
	return at
}
