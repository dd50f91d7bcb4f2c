package fakediscord_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/internal/fakediscord"
)

func withButton(ids ...string) []any {
	var buttons []any
	for _, id := range ids {
		buttons = append(buttons, fields{"type": 2, "style": 2, "label": "Steps", "custom_id": id})
	}
	return []any{fields{"type": 1, "components": buttons}}
}

// clicked lets ada click a button, and gives the interaction's event.
func clicked(t *testing.T, s usual, k *socket, channel string) frame {
	t.Helper()
	m := post(t, s.Server, channel, fields{"content": "done", "components": withButton("steps:1")})
	s.Click(s.ada, m, "steps:1")
	return k.event("INTERACTION_CREATE")
}

func callbackPath(f frame) string {
	return fmt.Sprintf("/interactions/%s/%s/callback", f.D["id"], f.D["token"])
}

func hook(s usual, f frame, rest string) string {
	return fmt.Sprintf("/webhooks/%s/%s%s", s.Bot(), f.D["token"], rest)
}

func TestClickIsAnsweredToOnePerson(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	for _, channel := range []string{s.channel, s.DM(s.ada)} {
		f := clicked(t, s, k, channel)
		_, user := f.D["user"]
		if _, member := f.D["member"]; user == member || user != (channel == s.DM(s.ada)) {
			t.Errorf("an interaction has a member in a guild, and a user in a DM: %v", f.D)
		}
		before := len(s.Messages(channel))
		answer := fields{"type": 4, "data": fields{"content": "Thought", "flags": 64, "components": withButton("more")}}
		if status, e := call(t, s.Server, "POST", callbackPath(f), answer); status != 204 {
			t.Fatalf("%d %v", status, e)
		}
		if status, e := call(t, s.Server, "POST", callbackPath(f), answer); status != 400 || e["code"] != 40060.0 {
			t.Errorf("a second answer: %d %v, want 400 40060", status, e)
		}
		if got := len(s.Messages(channel)) - before; got != 0 {
			t.Errorf("%d messages for all, want none", got)
		}
	}
	only := s.Ephemerals(s.ada)
	if len(only) != 2 || only[0].Text() != "Thought\nSteps" {
		t.Fatalf("ada sees %v", only)
	}
	// The next page is an update of the message that only she sees.
	s.Click(s.ada, only[0].ID, "more")
	f := k.event("INTERACTION_CREATE")
	call(t, s.Server, "POST", callbackPath(f), fields{"type": 7, "data": fields{"content": "Page 2"}})
	if got := s.Message(only[0].ID).Content; got != "Page 2" {
		t.Errorf("after the update it says %q", got)
	}
}

func TestDeferredAnswer(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	f := clicked(t, s, k, s.channel)
	if status, _ := call(t, s.Server, "POST", hook(s, f, ""), fields{"content": "early"}); status != 404 {
		t.Errorf("a follow-up before the answer: %d, want 404", status)
	}
	_, made := call(t, s.Server, "POST", callbackPath(f)+"?with_response=true", fields{"type": 5, "data": fields{"flags": 64}})
	about, _ := made["interaction"].(map[string]any)
	if about["response_message_loading"] != true || about["response_message_ephemeral"] != true {
		t.Errorf("with_response gives %v", made)
	}
	if status, e := call(t, s.Server, "PATCH", hook(s, f, "/messages/@original"), fields{"content": "first"}); status != 200 {
		t.Fatalf("%d %v", status, e)
	}
	_, second := call(t, s.Server, "POST", hook(s, f, ""), fields{"content": "second", "flags": 64})
	call(t, s.Server, "POST", hook(s, f, ""), fields{"content": "third", "flags": 64})
	call(t, s.Server, "DELETE", hook(s, f, "/messages/"+second["id"].(string)), nil)
	var got []string
	for _, m := range s.Ephemerals(s.ada) {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff([]string{"first", "third"}, got); diff != "" {
		t.Errorf("ada sees (-want +got):\n%s", diff)
	}
}

func TestFirstFollowUpReplacesDeferred(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	f := clicked(t, s, k, s.channel)
	call(t, s.Server, "POST", callbackPath(f), fields{"type": 5})
	call(t, s.Server, "POST", hook(s, f, ""), fields{"content": "it"})
	if got := s.Interactions()[0].Replies; len(got) != 1 || got[0].Content != "it" || got[0].Flags != 0 {
		t.Errorf("replies: %+v", got)
	}
}

func TestInteractionTimes(t *testing.T) {
	now := newClock()
	s := start(t, fakediscord.Options{NoLimits: true, Now: now.Now})
	k, _ := connect(t, s.Server, basic, nil)
	late, taken := clicked(t, s, k, s.channel), clicked(t, s, k, s.channel)
	now.advance(3 * time.Second)
	call(t, s.Server, "POST", callbackPath(taken), fields{"type": 6})
	now.advance(time.Millisecond)
	if status, e := call(t, s.Server, "POST", callbackPath(late), fields{"type": 6}); status != 404 || e["code"] != 10062.0 {
		t.Errorf("after 3 s: %d %v, want 404 10062", status, e)
	}
	now.advance(15 * time.Minute)
	if status, e := call(t, s.Server, "POST", hook(s, taken, ""), fields{"content": "x"}); status != 401 || e["code"] != 50027.0 {
		t.Errorf("after 15 minutes: %d %v, want 401 50027", status, e)
	}
	seen := s.Interactions()
	if !seen[0].Acked.IsZero() || seen[1].Acked.Sub(seen[1].Created) != 3*time.Second {
		t.Errorf("acknowledged %v and %v", seen[0].Acked, seen[1].Acked)
	}
}

func TestCommands(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	path := "/applications/" + s.Bot() + "/commands"
	ask := fields{"name": "ask", "description": "Ask", "options": []any{
		fields{"type": 3, "name": "question", "description": "What", "required": true},
	}}
	stop := fields{"name": "stop", "description": "Stop"}
	if status, e := call(t, s.Server, "PUT", path, []any{fields{"name": "has space", "description": "x"}}); status != 400 {
		t.Errorf("a bad name: %d %v", status, e)
	}
	ids := func() map[string]string {
		_, body, _ := callRaw(t, s.Server, "GET", path, nil)
		var found []struct{ ID, Name string }
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, c := range found {
			out[c.Name] = c.ID
		}
		return out
	}
	callRaw(t, s.Server, "PUT", path, []any{ask, stop})
	first := ids()
	callRaw(t, s.Server, "PUT", path, []any{ask})
	if status, _ := call(t, s.Server, "POST", path, fields{"name": "help", "description": "Help"}); status != 201 {
		t.Errorf("a new command: %d, want 201", status)
	}
	second := ids()
	if first["ask"] == "" || first["ask"] != second["ask"] || second["stop"] != "" {
		t.Errorf("ids before %v, and after %v", first, second)
	}
	if diff := cmp.Diff([]string{"ask", "help"}, s.Commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}

	k, _ := connect(t, s.Server, 0, nil)
	s.Slash(s.ada, s.channel, "ask", map[string]any{"question": "why?"})
	f := k.event("INTERACTION_CREATE")
	want := fields{"id": second["ask"], "name": "ask", "type": 1.0, "options": []any{
		fields{"name": "question", "type": 3.0, "value": "why?"},
	}}
	if diff := cmp.Diff(want, f.D["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	call(t, s.Server, "POST", callbackPath(f), fields{"type": 4, "data": fields{"content": "because"}})
	if got := s.Posts(s.channel); len(got) != 1 || got[0].Type != 20 {
		t.Errorf("posts: %+v", got)
	}
}
