package atlas

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
)

// Threads that are archived, channels that are deleted with what stands in them,
// and guilds that the bot leaves are forgotten.
func TestAtlasForgets(t *testing.T) {
	at := New(func() api.User { return api.User{ID: "1"} }, nil, nil, 0)
	draw := func(kind, data string) {
		t.Helper()
		if _, err := at.Draws(kind, json.RawMessage(data)); err != nil {
			t.Fatal(err)
		}
	}
	draw("GUILD_CREATE", `{"id":"5","channels":[{"id":"6","type":0},{"id":"7","type":0}]}`)
	draw("THREAD_LIST_SYNC", `{"guild_id":"5","threads":[{"id":"8","type":11,"parent_id":"6"},{"id":"9","type":11,"parent_id":"6"}]}`)
	if c, ok := at.Known("8"); !ok || c.GuildID != "5" {
		t.Errorf("a thread that was synced is %+v", c)
	}
	draw("THREAD_UPDATE", `{"id":"8","type":11,"parent_id":"6","guild_id":"5","thread_metadata":{"archived":true}}`)
	if _, ok := at.Known("8"); ok {
		t.Error("an archived thread is kept")
	}
	draw("CHANNEL_DELETE", `{"id":"6","type":0,"guild_id":"5"}`)
	if _, ok := at.Known("9"); ok {
		t.Error("the thread of a deleted channel is kept")
	}
	draw("GUILD_DELETE", `{"id":"5","unavailable":true}`)
	if _, ok := at.Known("7"); !ok {
		t.Error("an outage takes channels away")
	}
	draw("GUILD_DELETE", `{"id":"5"}`)
	if len(at.spots) != 0 || len(at.lands) != 0 {
		t.Errorf("%d channels and %d guilds are left", len(at.spots), len(at.lands))
	}
}

// large is a guild as large bots have many: 100 channels, 30 threads, 50 roles.
func large(n int) api.Guild {
	id := strconv.Itoa(1_000_000 + n)
	g := api.Guild{ID: id, Owner: "77", Members: []api.Member{{User: &api.User{ID: "1"}, Roles: []string{id + "01"}}}}
	for i := range 100 {
		c := api.Channel{ID: fmt.Sprintf("%s%03d", id, i), Name: fmt.Sprintf("channel-%d", i), LastMessageID: fmt.Sprintf("%s%03d9", id, i)}
		for j := range 4 {
			c.PermissionOverwrites = append(c.PermissionOverwrites, &api.Overwrite{ID: fmt.Sprintf("%s%02d", id, j), Allow: 1 << 10})
		}
		g.Channels = append(g.Channels, c)
	}
	for i := range 30 {
		g.Threads = append(g.Threads, api.Channel{ID: fmt.Sprintf("%s5%03d", id, i), Type: discordgo.ChannelTypeGuildPublicThread, ParentID: fmt.Sprintf("%s%03d", id, i), LastMessageID: "9"})
	}
	for i := range 50 {
		g.Roles = append(g.Roles, api.Role{ID: fmt.Sprintf("%s%02d", id, i), Name: fmt.Sprintf("role-%d", i), May: 1 << 11})
	}
	return g
}

// The channels in which something was written last are listed, in order, however
// many there are.
func TestBusy(t *testing.T) {
	at := New(func() api.User { return api.User{ID: "1"} }, nil, nil, 0)
	for n := range 3 {
		at.PutGuild(large(n))
	}
	list, all := at.Busy("1000001", 5)
	want := []string{"1000002099", "1000002098", "1000002097", "1000002096", "1000002095"}
	if all != 300 || !slices.Equal(list, want) {
		t.Errorf("%d channels, of which %q", all, list)
	}
	if list, all := at.Busy("10000020970", 1000); all != 3 || len(list) != 3 {
		t.Errorf("since then %d channels, of which %q", all, list)
	}
}

// longest asks the atlas for a channel again and again while something is done, and
// says how long an answer took at the most.
func longest(at *Atlas, do func()) time.Duration {
	var done atomic.Bool
	most := make(chan time.Duration)
	go func() {
		var longest time.Duration
		for !done.Load() {
			began := time.Now()
			at.Known("1000000001")
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
		at := New(func() api.User { return api.User{ID: "1"} }, nil, nil, 0)
		for n := range 10_000 {
			at.PutGuild(large(n))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		var took time.Duration
		found := 0
		pause := longest(at, func() {
			began := time.Now()
			_, found = at.Busy("1", 2000)
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
