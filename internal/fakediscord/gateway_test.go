package fakediscord_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"nod/internal/fakediscord"
)

func TestGatewayRefuses(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	const good = "v=10&encoding=json"
	for name, c := range map[string]struct {
		query string
		sends []any
		want  int
	}{
		"version":           {"v=6&encoding=json", nil, 4012},
		"encoding":          {"v=10&encoding=etf", nil, 4002},
		"garbage":           {good, []any{"what"}, 4002},
		"too large":         {good, []any{fields{"op": 1, "d": strings.Repeat("x", 5000)}}, 4002},
		"unknown op":        {good, []any{identify(basic, nil), fields{"op": 42}}, 4001},
		"not authenticated": {good, []any{fields{"op": 3, "d": fields{}}}, 4003},
		"token":             {good, []any{identify(basic, fields{"token": "wrong"})}, 4004},
		"resume token":      {good, []any{fields{"op": 6, "d": fields{"token": "wrong"}}}, 4004},
		"twice":             {good, []any{identify(basic, nil), identify(basic, nil)}, 4005},
		"shard":             {good, []any{identify(basic, fields{"shard": []int{2, 2}})}, 4010},
		"no intents":        {good, []any{identify(0, fields{"intents": nil})}, 4013},
		"unknown intents":   {good, []any{identify(1<<30, nil)}, 4013},
		"privileged":        {good, []any{identify(basic|fakediscord.IntentMessageContent, nil)}, 4014},
	} {
		t.Run(name, func(t *testing.T) {
			k := dial(t, s.Server, c.query)
			for _, v := range c.sends {
				k.send(v)
			}
			if got := k.closed(); got != c.want {
				t.Errorf("closed with %d, want %d", got, c.want)
			}
		})
	}
}

func TestGatewayLimits(t *testing.T) {
	s := start(t, fakediscord.Options{})
	k, _ := connect(t, s.Server, basic, nil)

	second := dial(t, s.Server, "v=10&encoding=json")
	second.send(identify(basic, nil))
	if f := second.next(9); f.R != false {
		t.Errorf("an identify within 5 s got %v, want op 9 false", f)
	}
	for range 120 {
		k.send(fields{"op": 1, "d": nil})
	}
	if got := k.closed(); got != 4008 {
		t.Errorf("121 sends in a minute: closed with %d, want 4008", got)
	}
}

func TestSilentClientIsClosed(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Heartbeat: 20 * time.Millisecond})
	k, _ := connect(t, s.Server, basic, nil)
	if got := k.closed(); got != 4009 {
		t.Errorf("closed with %d, want 4009", got)
	}
}

func TestResume(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, ready := connect(t, s.Server, basic, nil)
	s.Say(s.ada, s.channel, "one")
	seen := k.event("MESSAGE_CREATE").S
	s.Connections()[0].Cut()
	until(t, s.Server, "the cut is noticed", func() bool { return len(s.Connections()) == 0 })
	s.Say(s.ada, s.channel, "two")
	s.Say(s.ada, s.channel, "three")

	k = dial(t, s.Server, "v=10&encoding=json")
	k.send(resume(ready, seen))
	var got []string
	for range 3 {
		f := k.next(0)
		got = append(got, fmt.Sprint(f.T, " ", f.S-seen))
	}
	want := []string{"MESSAGE_CREATE 1", "MESSAGE_CREATE 2", "RESUMED 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the resume (-want +got):\n%s", diff)
	}
	if !s.Connections()[0].State().Resumed {
		t.Error("the connection does not say that it was resumed")
	}
}

func TestResumeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*testing.T, usual, *socket, *clock)
		want  string
	}{
		"after 1000": {func(t *testing.T, _ usual, k *socket, _ *clock) { k.close(t, 1000) }, "op 9 false"},
		"after 1001": {func(t *testing.T, _ usual, k *socket, _ *clock) { k.close(t, 1001) }, "op 9 false"},
		"after 4000": {func(t *testing.T, _ usual, k *socket, _ *clock) { k.close(t, 4000) }, "op 0 RESUMED"},
		"too late": {func(t *testing.T, s usual, k *socket, now *clock) {
			k.close(t, 4000)
			until(t, s.Server, "it left", func() bool { return len(s.Connections()) == 0 })
			now.advance(time.Hour)
		}, "op 9 false"},
		"forgotten": {func(_ *testing.T, s usual, _ *socket, _ *clock) { s.ForgetSessions() }, "op 9 false"},
	} {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			s := start(t, fakediscord.Options{NoLimits: true, Now: now.Now})
			k, ready := connect(t, s.Server, basic, nil)
			seq := k.event("GUILD_CREATE").S
			c.leave(t, s, k, now)
			until(t, s.Server, "it left", func() bool { return len(s.Connections()) == 0 })
			again := dial(t, s.Server, "v=10&encoding=json")
			again.next(10)
			again.send(resume(ready, seq))
			f, err := again.read()
			got := fmt.Sprintf("op %d %v", f.Op, f.R)
			if f.Op == 0 {
				got = "op 0 " + f.T
			}
			if err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func (k *socket) close(t *testing.T, code int) {
	t.Helper()
	if err := k.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, "")); err != nil {
		t.Fatal(err)
	}
}

func TestInvalidSeq(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	_, ready := connect(t, s.Server, basic, nil)
	s.Connections()[0].Cut()
	k := dial(t, s.Server, "v=10&encoding=json")
	k.send(resume(ready, 999))
	if got := k.closed(); got != 4007 {
		t.Errorf("closed with %d, want 4007", got)
	}
}

func TestFrozenConnectionIsReplaced(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	old, ready := connect(t, s.Server, basic, nil)
	seq := old.event("GUILD_CREATE").S
	held := s.Connections()[0]
	held.Freeze()
	old.send(fields{"op": 1, "d": nil})
	s.Say(s.ada, s.channel, "unseen")
	other, _ := connect(t, s.Server, basic, nil)
	s.Say(s.ada, s.channel, "unseen")
	other.event("MESSAGE_CREATE")
	if got := held.State(); !got.Frozen || got.Waiting != 2 {
		t.Errorf("the frozen connection: %+v, want 2 payloads waiting", got)
	}

	k := dial(t, s.Server, "v=10&encoding=json")
	k.send(resume(ready, seq))
	if f := k.event("MESSAGE_CREATE"); f.D["id"] == nil {
		t.Errorf("got %v", f)
	}
	k.event("RESUMED")
	if held.State() != (fakediscord.State{}) {
		t.Error("the frozen connection still has the session")
	}
	if err := old.ws.Close(); err != nil {
		t.Fatal(err)
	}
	s.Say(s.ada, s.channel, "seen")
	k.event("MESSAGE_CREATE")
}

func TestStopAcks(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	k.send(fields{"op": 1, "d": nil})
	k.next(11)
	s.Connections()[0].StopAcks()
	k.send(fields{"op": 1, "d": nil})
	k.send(fields{"op": 42, "d": nil})
	for {
		f, err := k.read()
		if f.Op == 11 {
			t.Fatal("got an ack")
		}
		if err != nil {
			return // closed because of op 42, after the heartbeat was read
		}
	}
}

func TestThaw(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	c := s.Connections()[0]
	c.Freeze()
	s.Say(s.ada, s.channel, "late")
	c.Thaw()
	k.event("MESSAGE_CREATE")
}

func TestShards(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	other := s.AddGuild("Other", s.ada)
	channels := []string{s.channel, s.AddChannel(other, "general"), s.DM(s.ada)}
	var shards [3]*socket // two sessions of shard 0 and one of shard 1
	for i, id := range []int{0, 0, 1} {
		shards[i], _ = connect(t, s.Server, basic, fields{"shard": []int{id, 2}})
	}
	for _, c := range channels {
		s.Say(s.ada, c, "hello")
	}
	s.Emit("END", []byte(`{}`))
	got := map[string][]int{}
	for i, k := range shards {
		for {
			f := k.next(0)
			if f.T == "END" {
				break
			}
			if f.T == "MESSAGE_CREATE" {
				got[fmt.Sprint(f.D["channel_id"])] = append(got[fmt.Sprint(f.D["channel_id"])], i)
			}
		}
	}
	if diff := cmp.Diff([]int{0, 1}, got[channels[2]]); diff != "" {
		t.Errorf("who got the DM (-want +got):\n%s", diff)
	}
	for _, c := range channels[:2] {
		if w := fmt.Sprint(got[c]); w != "[0 1]" && w != "[2]" {
			t.Errorf("channel %s: sessions %s got it, want both of one shard", c, w)
		}
	}
}

func TestGuildsSpreadOverShards(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	for range 20 {
		s.AddGuild("More")
	}
	for id := range 2 {
		_, ready := connect(t, s.Server, basic, fields{"shard": []int{id, 2}})
		if guilds, _ := ready.D["guilds"].([]any); len(guilds) == 0 {
			t.Errorf("shard %d has no guild", id)
		}
	}
}

func TestIntents(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Privileged: fakediscord.IntentGuildMembers})
	for name, c := range map[string]struct {
		intents int
		want    []string
	}{
		"none":     {0, nil},
		"guilds":   {fakediscord.IntentGuilds, []string{"GUILD_CREATE", "CHANNEL_CREATE"}},
		"messages": {fakediscord.IntentGuildMessages, []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"}},
		"direct":   {fakediscord.IntentDirectMessages, []string{"MESSAGE_CREATE"}},
		"members":  {fakediscord.IntentGuildMembers, []string{"GUILD_MEMBER_UPDATE"}},
		"reactions": {
			fakediscord.IntentGuildReactions | fakediscord.IntentDirectReactions,
			[]string{"MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "MESSAGE_REACTION_ADD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := connect(t, s.Server, c.intents, nil)
			m := s.Say(s.ada, s.channel, "hi")
			s.React(s.ada, m, "✅")
			s.Unreact(s.ada, m, "✅")
			s.Unreact(s.ada, m, "✅")
			s.Edit(m, "ho")
			s.Delete(m)
			s.React(s.ada, s.Say(s.ada, s.DM(s.ada), "hi"), "✅")
			s.AddChannel(s.guild, "new")
			s.SetRoles(s.guild, s.ada)
			s.Emit("END", []byte(`{}`))
			if diff := cmp.Diff(append(c.want, "END"), k.kinds("END")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			s.Connections()[0].Cut()
			until(t, s.Server, "it left", func() bool { return len(s.Connections()) == 0 })
		})
	}
}

func TestContentNeedsTheIntent(t *testing.T) {
	file := fakediscord.With{Files: []fakediscord.File{{Name: "a.txt", Data: []byte("a")}}}
	for _, intent := range []int{0, fakediscord.IntentMessageContent} {
		s := start(t, fakediscord.Options{NoLimits: true, Privileged: intent})
		k, _ := connect(t, s.Server, basic|intent, nil)
		s.Say(s.ada, s.channel, "plain", file)
		s.Say(s.ada, s.channel, "<@"+s.Bot()+"> mention", file)
		s.Say(s.ada, s.DM(s.ada), "direct", file)
		first := s.Say(s.ada, s.channel, "asked")
		s.Say(s.ada, s.channel, "<@"+s.Bot()+"> see", fakediscord.With{ReplyTo: first})
		call(t, s.Server, "POST", "/channels/"+s.channel+"/messages", fields{"content": "own"})
		var got []string
		for range 6 {
			d := k.event("MESSAGE_CREATE").D
			files, _ := d["attachments"].([]any)
			to, _ := d["referenced_message"].(map[string]any)
			got = append(got, fmt.Sprint(strings.TrimPrefix(d["content"].(string), "<@"+s.Bot()+"> "), len(files), to["content"]))
		}
		want := []string{"0 <nil>", "mention1 <nil>", "direct1 <nil>", "0 <nil>", "see0", "own0 <nil>"}
		if intent != 0 {
			want = []string{"plain1 <nil>", "mention1 <nil>", "direct1 <nil>", "asked0 <nil>", "see0asked", "own0 <nil>"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("intent %d: content, files, referenced content (-want +got):\n%s", intent, diff)
		}
		_, m := call(t, s.Server, "GET", "/channels/"+s.channel+"/messages/"+first, nil)
		if hidden := m["content"] == ""; hidden != (intent == 0) {
			t.Errorf("intent %d: REST gives content %q", intent, m["content"])
		}
	}
}

func TestUnseenChannelsAreSilent(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	s.Overwrite(s.channel, s.guild, 0, fakediscord.ViewChannel)
	s.Say(s.ada, s.channel, "secret")
	s.Emit("END", []byte(`{}`))
	for _, kind := range k.kinds("END") {
		if kind == "MESSAGE_CREATE" {
			t.Error("the bot got a message of a channel that it can't see")
		}
	}
	if status, e := call(t, s.Server, "GET", "/channels/"+s.channel, nil); status != 403 || e["code"] != 50001.0 {
		t.Errorf("GET gives %d %v, want 403 50001", status, e)
	}
}

func TestDisorder(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	k.event("GUILD_CREATE")
	s.Duplicate(1)
	ids := []string{s.Say(s.ada, s.channel, "twice")}
	s.Reverse(2)
	ids = append(ids, s.Say(s.ada, s.channel, "b"), s.Say(s.ada, s.channel, "a"))
	s.Twist(func(_ string, d map[string]any) { d["author"] = nil })
	ids = append(ids, s.Say(s.ada, s.channel, "by nobody"))
	s.Twist(nil)
	var got []string
	last := int64(0)
	for range 5 {
		f := k.event("MESSAGE_CREATE")
		if last != 0 && f.S != last+1 {
			t.Errorf("sequence %d follows %d", f.S, last)
		}
		last = f.S
		got = append(got, fmt.Sprint(f.D["id"], f.D["author"] == nil))
	}
	want := []string{ids[0] + "false", ids[0] + "false", ids[2] + "false", ids[1] + "false", ids[3] + "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMalformed(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	k.event("GUILD_CREATE")
	for range s.Malformed(s.channel) {
		k.next(0) // whatever it is, it is JSON
	}
	s.Say(s.ada, s.channel, "fine")
	k.event("MESSAGE_CREATE")
}

func TestGatewayCanBeDown(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	s.Inject(fakediscord.Fault{Route: fakediscord.GatewayRoute, Status: 503, Times: 2})
	url := "ws" + strings.TrimSuffix(s.URL()[len("http"):], "/api") + "/?v=10&encoding=json"
	for i, want := range []bool{false, false, true} {
		ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
		if (err == nil) != want {
			t.Errorf("dial %d: %v", i, err)
		}
		if err == nil {
			_ = ws.Close()
		}
		_ = resp.Body.Close()
	}
}
