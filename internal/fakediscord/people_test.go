package fakediscord_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/internal/fakediscord"
)

func TestPeopleCauseEvents(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Privileged: fakediscord.IntentMessageContent})
	bob, dog := s.AddUser("bob", ""), s.AddBot("dog")
	k, _ := connect(t, s.Server, basic|fakediscord.IntentMessageContent, nil)
	k.event("GUILD_CREATE")
	s.Join(s.guild, bob, dog)
	for name, c := range map[string]struct {
		act  func() string
		want []string // the events, and for each message: author is a bot, webhook, type
	}{
		"bot":     {func() string { return s.Say(dog, s.channel, "woof") }, []string{"MESSAGE_CREATE true false 0"}},
		"webhook": {func() string { return s.Say(bob, s.channel, "built", fakediscord.With{Hook: "ci"}) }, []string{"MESSAGE_CREATE true true 0"}},
		"reply": {func() string {
			return s.Say(bob, s.channel, "re", fakediscord.With{ReplyTo: s.Say(s.ada, s.channel, "x"), Quiet: true})
		}, []string{"MESSAGE_CREATE false false 0", "MESSAGE_CREATE false false 19"}},
		"forward": {func() string {
			return s.Say(bob, s.DM(bob), "", fakediscord.With{Forward: s.Say(s.ada, s.channel, "x")})
		}, []string{"MESSAGE_CREATE false false 0", "MESSAGE_CREATE false false 0"}},
		"thread": {func() string { return s.OpenThread(bob, s.channel, "", "idea") }, []string{"THREAD_CREATE", "MESSAGE_CREATE false false 18"}},
		"preview": {func() string {
			m := s.Say(bob, s.channel, "https://example.com")
			s.Unfurl(m)
			return m
		}, []string{"MESSAGE_CREATE false false 0", "MESSAGE_UPDATE false false 0"}},
		"purge": {func() string {
			m := s.Say(bob, s.channel, "spam")
			s.Purge(s.channel, m)
			return m
		}, []string{"MESSAGE_CREATE false false 0", "MESSAGE_DELETE_BULK"}},
		"role":   {func() string { return s.AddRole(s.guild, "ops", 0) }, []string{"GUILD_ROLE_CREATE"}},
		"delete": {func() string { s.DeleteChannel(s.AddChannel(s.guild, "gone")); return "" }, []string{"CHANNEL_CREATE", "CHANNEL_DELETE"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.act()
			s.Emit("END", []byte(`{}`))
			var got []string
			for {
				f := k.next(0)
				if f.T == "END" {
					break
				}
				line := f.T
				if author, ok := f.D["author"].(map[string]any); ok {
					line += fmt.Sprint(" ", author["bot"] == true, " ", f.D["webhook_id"] != nil, " ", f.D["type"])
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMembersComeAndGo(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	bob := s.AddUser("bob", "")
	ops := s.AddRole(s.guild, "ops", 0)
	path := "/guilds/" + s.guild + "/members/" + bob
	s.Join(s.guild, bob)
	s.SetRoles(s.guild, bob, ops)
	if _, m := call(t, s.Server, "GET", path, nil); fmt.Sprint(m["roles"]) != "["+ops+"]" {
		t.Errorf("roles: %v", m["roles"])
	}
	s.Leave(s.guild, bob)
	if status, _ := call(t, s.Server, "GET", path, nil); status != 404 {
		t.Errorf("after leaving: %d, want 404", status)
	}
	s.BotMay(s.guild, fakediscord.ViewChannel)
	if status, _ := call(t, s.Server, "POST", "/channels/"+s.channel+"/messages", fields{"content": "x"}); status != 403 {
		t.Errorf("without the permission: %d, want 403", status)
	}
	_, body, _ := callRaw(t, s.Server, "GET", "/users/@me/guilds", nil)
	var guilds []struct{ Permissions string }
	if err := json.Unmarshal(body, &guilds); err != nil || guilds[0].Permissions != fmt.Sprint(fakediscord.ViewChannel|fakediscord.ReadMessageHistory) {
		t.Errorf("permissions: %+v, %v", guilds, err)
	}
}

func TestModerators(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Invite: fakediscord.Usual | fakediscord.ManageMessages})
	m := s.Say(s.ada, s.channel, "x")
	at := "/channels/" + s.channel + "/messages/" + m
	emoji := at + "/reactions/" + url.PathEscape("✅")
	for _, request := range []string{emoji + "/" + s.ada, emoji, at + "/reactions"} {
		s.React(s.ada, m, "✅")
		if status, e := call(t, s.Server, "DELETE", request, nil); status != 204 || len(s.Reactions(m)) != 0 {
			t.Errorf("DELETE %s: %d %v, left %v", request, status, e, s.Reactions(m))
		}
	}
	if status, _ := call(t, s.Server, "DELETE", at, nil); status != 204 || !s.Message(m).Deleted {
		t.Errorf("DELETE: %d", status)
	}
}

func TestEdits(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	m := post(t, s.Server, s.channel, fields{"content": "one", "components": withButton("a")})
	at := "/channels/" + s.channel + "/messages/" + m
	call(t, s.Server, "PATCH", at, fields{"content": "two"})
	call(t, s.Server, "PATCH", at, fields{"components": []any{}})
	if status, _ := call(t, s.Server, "PATCH", at, fields{"content": ""}); status != 400 {
		t.Errorf("emptied: %d, want 400", status)
	}
	got := s.Message(m)
	if diff := cmp.Diff([]string{"one", "two"}, got.Past); diff != "" || len(got.Buttons()) != 0 || got.Content != "two" {
		t.Errorf("past (-want +got):\n%s\nbuttons %v", diff, got.Buttons())
	}
	v2 := post(t, s.Server, s.channel, fields{"flags": 1 << 15, "components": []any{fields{"type": 10, "content": "x"}}})
	if status, _ := call(t, s.Server, "PATCH", "/channels/"+s.channel+"/messages/"+v2, fields{"content": "x"}); status != 400 {
		t.Errorf("content beside components: %d, want 400", status)
	}
}

func TestThreadMembership(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	thread := s.OpenThread(s.ada, s.channel, "", "idea")
	me := "/channels/" + thread + "/thread-members/@me"
	var got []int
	for _, method := range []string{"GET", "PUT", "GET", "DELETE", "GET"} {
		status, _ := call(t, s.Server, method, me, nil)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{404, 204, 200, 204, 404}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if status, _ := call(t, s.Server, "PUT", "/channels/"+s.channel+"/thread-members/@me", nil); status != 400 {
		t.Errorf("join a channel: %d, want 400", status)
	}
}

func TestModalAnswer(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	input := []any{fields{"type": 1, "components": []any{fields{"type": 4, "custom_id": "x", "style": 1, "label": "x"}}}}
	for title, want := range map[string]int{"Edit": 204, "": 400} {
		f := clicked(t, s, k, s.channel)
		body := fields{"type": 9, "data": fields{"custom_id": "m", "title": title, "components": input}}
		if status, e := call(t, s.Server, "POST", callbackPath(f), body); status != want {
			t.Errorf("title %q: %d %v, want %d", title, status, e, want)
		}
	}
}

func TestWaitForEnds(t *testing.T) {
	s := start(t, fakediscord.Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		until(t, s.Server, "a message", func() bool { return len(s.Messages(s.channel)) > 0 })
	}()
	s.Say(s.ada, s.channel, "x")
	<-done
}
