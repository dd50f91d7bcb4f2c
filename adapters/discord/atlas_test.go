package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// What was missed is looked for in threads and posts, too, that the bot was never
// in.
func TestBackfillThreads(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := o.fake.OpenThread(o.ada, o.general, "", "between us")
	forum := o.fake.AddForum(o.guild, "questions")
	o.fake.Say(o.ada, o.fake.DM(o.ada), "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.Say(o.ada, th, o.mention()+" two")
	o.fake.Publish(o.bob, forum, "why?", o.mention()+" three")
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	if got := slices.Sorted(slices.Values(o.in.Texts())); !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("messages %q", got)
	}
}

// Threads that are archived, channels that are deleted with what stands in them,
// and guilds that the bot leaves are forgotten.
func TestAtlasForgets(t *testing.T) {
	at := newAtlas(func() user { return user{ID: "1"} })
	draw := func(kind, data string) {
		t.Helper()
		if _, err := at.draws(kind, json.RawMessage(data)); err != nil {
			t.Fatal(err)
		}
	}
	draw("GUILD_CREATE", `{"id":"5","channels":[{"id":"6","type":0},{"id":"7","type":0}]}`)
	draw("THREAD_LIST_SYNC", `{"guild_id":"5","threads":[{"id":"8","type":11,"parent_id":"6"},{"id":"9","type":11,"parent_id":"6"}]}`)
	if c, ok := at.channel("8"); !ok || c.GuildID != "5" {
		t.Errorf("a thread that was synced is %+v", c)
	}
	draw("THREAD_UPDATE", `{"id":"8","type":11,"parent_id":"6","guild_id":"5","thread_metadata":{"archived":true}}`)
	if _, ok := at.channel("8"); ok {
		t.Error("an archived thread is kept")
	}
	draw("CHANNEL_DELETE", `{"id":"6","type":0,"guild_id":"5"}`)
	if _, ok := at.channel("9"); ok {
		t.Error("the thread of a deleted channel is kept")
	}
	draw("GUILD_DELETE", `{"id":"5","unavailable":true}`)
	if _, ok := at.channel("7"); !ok {
		t.Error("an outage takes channels away")
	}
	draw("GUILD_DELETE", `{"id":"5"}`)
	if len(at.spots) != 0 || len(at.lands) != 0 {
		t.Errorf("%d channels and %d guilds are left", len(at.spots), len(at.lands))
	}
}

// large is a guild as large bots have many: 100 channels, 30 threads, 50 roles.
func large(n int) guild {
	id := strconv.Itoa(1_000_000 + n)
	g := guild{ID: id, Owner: "77", Members: []member{{User: &user{ID: "1"}, Roles: []string{id + "01"}}}}
	for i := range 100 {
		c := channel{ID: fmt.Sprintf("%s%03d", id, i), Name: fmt.Sprintf("channel-%d", i), Last: fmt.Sprintf("%s%03d9", id, i)}
		for j := range 4 {
			c.Overwrites = append(c.Overwrites, overwrite{ID: fmt.Sprintf("%s%02d", id, j), Allow: 1 << 10})
		}
		g.Channels = append(g.Channels, c)
	}
	for i := range 30 {
		g.Threads = append(g.Threads, channel{ID: fmt.Sprintf("%s5%03d", id, i), Type: publicThread, ParentID: fmt.Sprintf("%s%03d", id, i), Last: "9"})
	}
	for i := range 50 {
		g.Roles = append(g.Roles, role{ID: fmt.Sprintf("%s%02d", id, i), Name: fmt.Sprintf("role-%d", i), May: 1 << 11})
	}
	return g
}

// The channels in which something was written last are listed, in order, however
// many there are.
func TestBusy(t *testing.T) {
	at := newAtlas(func() user { return user{ID: "1"} })
	for n := range 3 {
		at.putGuild(large(n))
	}
	list, all := at.busy("1000001", 5)
	want := []string{"1000002099", "1000002098", "1000002097", "1000002096", "1000002095"}
	if all != 300 || !slices.Equal(list, want) {
		t.Errorf("%d channels, of which %q", all, list)
	}
	if list, all := at.busy("10000020970", 1000); all != 3 || len(list) != 3 {
		t.Errorf("since then %d channels, of which %q", all, list)
	}
}

// What is not looked through for what was missed is in the log: channels of which
// there are too many, and those that can't be read.
func TestNotLookedThrough(t *testing.T) {
	var log bytes.Buffer
	a, err := New(Options{Token: "x", APIURL: "http://127.0.0.1:1", Common: front.Common{Inbox: ledger.New(), Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	if err != nil {
		t.Fatal(err)
	}
	a.self.set(user{ID: "1"})
	for n := range 20 {
		a.atlas.putGuild(large(n))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // nothing is read
	a.stretches([]chat.Watermark{{Thread: thread("1", "2"), Last: chat.MessageRef{ID: "1"}}})
	if !strings.Contains(log.String(), "not every channel is looked through") || !strings.Contains(log.String(), "channels=2600 looked_through=2000") {
		t.Errorf("the log says %s", log.String())
	}
	log.Reset()
	a.atlas.putGuild(guild{
		ID: "5", Members: []member{{User: &user{ID: "1"}}}, Roles: []role{{ID: "5", May: discordgo.PermissionViewChannel}}, Channels: []channel{{ID: "6"}},
	})
	if err := a.overdue(over, stretch{span: span{channel: "6"}, last: "1"}); err != nil || !strings.Contains(log.String(), "lacks Read Message History") {
		t.Errorf("%v, the log says %s", err, log.String())
	}
}

// longest asks the atlas for a channel again and again while something is done, and
// says how long an answer took at the most.
func longest(at *atlas, do func()) time.Duration {
	var done atomic.Bool
	most := make(chan time.Duration)
	go func() {
		var longest time.Duration
		for !done.Load() {
			began := time.Now()
			at.channel("1000000001")
			longest = max(longest, time.Since(began))
		}
		most <- longest
	}()
	do()
	done.Store(true)
	return <-most
}

// BenchmarkAtlas is what 10,000 guilds take, and how long an event waits at most
// while all channels are looked through; beside that, how long it waits while
// nothing is done, which is the machine's.
func BenchmarkAtlas(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		at := newAtlas(func() user { return user{ID: "1"} })
		for n := range 10_000 {
			at.putGuild(large(n))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		var took time.Duration
		found := 0
		pause := longest(at, func() {
			began := time.Now()
			_, found = at.busy("1", mostBusy)
			took = time.Since(began)
		})
		b.ReportMetric(float64(took.Milliseconds()), "busy-ms")
		b.ReportMetric(float64(pause.Microseconds())/1000, "pause-ms")
		idle := longest(at, func() { time.Sleep(took) })
		b.ReportMetric(float64(idle.Microseconds())/1000, "idle-pause-ms")
		if found < 1_000_000 {
			b.Fatalf("%d channels", found)
		}
		runtime.KeepAlive(at)
	}
}
