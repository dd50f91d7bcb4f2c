package fakediscord

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// answerSchema checks an answer against the published description.
func (c *contract) checkAnswer(route string, status int, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, method := c.operation(route)
	s, err := c.schema("paths", path, method, "responses", fmt.Sprint(status), "content", "application/json", "schema")
	if err != nil || s == nil {
		return fmt.Errorf("no schema of %s %d: %w", route, status, err)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// Every answer has the shape that Discord publishes, so that a library that
// was generated from the description would read it.
func TestAnswersKeepTheContract(t *testing.T) {
	s := Start(t, Options{NoLimits: true, Privileged: IntentGuildMembers | IntentMessageContent})
	if s.contract == nil {
		t.Skip("discord-openapi.json does not lie beside the checkout")
	}
	ada := s.AddUser("ada", "Ada")
	guild := s.AddGuild("Acme", ada)
	channel := s.AddChannel(guild, "general")
	m := s.Say(ada, channel, "<@"+s.Bot()+"> hi", With{Files: []File{{Name: "a.txt", Data: []byte("a")}}})
	s.React(ada, m, "✅")
	s.Say(ada, channel, "re", With{ReplyTo: m})
	s.Say(ada, channel, "hooked", With{Hook: "ci"})
	old := s.Say(ada, channel, "old")
	s.OpenThread(ada, channel, old, "thread")
	row := `[{"type":1,"components":[{"type":2,"style":1,"label":"x","custom_id":"a"}]}]`
	container := `[{"type":17,"components":[{"type":10,"content":"hi"},{"type":14},` + row[1:len(row)-1] + `]}]`
	commands := `[{"name":"ask","description":"Ask","options":[{"type":3,"name":"q","description":"Q","required":true}]}]`
	ch, gu, app := "/channels/"+channel, "/guilds/"+guild, "/applications/"+s.Bot()
	for _, c := range []struct{ route, path, body string }{
		{"GET /gateway/bot", "/gateway/bot", ""},
		{"GET /users/@me", "/users/@me", ""},
		{"GET /users/@me/guilds", "/users/@me/guilds", ""},
		{"POST /users/@me/channels", "/users/@me/channels", `{"recipient_id":"` + ada + `"}`},
		{"GET /applications/@me", "/applications/@me", ""},
		{"GET /guilds/{guild}", gu, ""},
		{"GET /guilds/{guild}/roles", gu + "/roles", ""},
		{"GET /guilds/{guild}/channels", gu + "/channels", ""},
		{"GET /guilds/{guild}/members/{user}", gu + "/members/" + ada, ""},
		{"GET /guilds/{guild}/threads/active", gu + "/threads/active", ""},
		{"GET /channels/{channel}", ch, ""},
		{"GET /channels/{channel}", "/channels/" + old, ""},
		{"GET /channels/{channel}", "/channels/" + s.DM(ada), ""},
		{"POST /channels/{channel}/messages", ch + "/messages", `{"content":"x","embeds":[{"title":"t"}],"nonce":"n","components":` + row + `}`},
		{"POST /channels/{channel}/messages", ch + "/messages", `{"content":"x","message_reference":{"message_id":"` + m + `"}}`},
		{"POST /channels/{channel}/messages", ch + "/messages", `{"flags":32768,"components":` + container + `}`},
		{"GET /channels/{channel}/messages", ch + "/messages", ""},
		{"GET /channels/{channel}/messages", "/channels/" + old + "/messages", ""},
		{"GET /channels/{channel}/messages/{message}", ch + "/messages/" + m, ""},
		{"GET /channels/{channel}/messages/{message}/reactions/{emoji}", ch + "/messages/" + m + "/reactions/" + url.PathEscape("✅"), ""},
		{"POST /channels/{channel}/messages/{message}/threads", ch + "/messages/" + m + "/threads", `{"name":"t"}`},
		{"GET /channels/{channel}/thread-members", "/channels/" + m + "/thread-members", ""},
		{"GET /channels/{channel}/threads/archived/public", ch + "/threads/archived/public", ""},
		{"PUT /applications/{app}/commands", app + "/commands", commands},
		{"GET /applications/{app}/commands", app + "/commands", ""},
	} {
		method, _, _ := strings.Cut(c.route, " ")
		status, body := ask(t, s, method, c.path, c.body)
		if err := s.contract.checkAnswer(c.route, status, body); err != nil {
			t.Errorf("%s: %v", c.route, err)
		}
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

// ask makes a request without a network.
func ask(t *testing.T, s *Server, method, path, body string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/api/v10"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bot token")
	r.Header.Set("User-Agent", "DiscordBot (https://discord.com, 1)")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, answer
}

func TestInteractionAnswersKeepTheContract(t *testing.T) {
	s := Start(t, Options{NoLimits: true})
	if s.contract == nil {
		t.Skip("discord-openapi.json does not lie beside the checkout")
	}
	ada := s.AddUser("ada", "")
	channel := s.AddChannel(s.AddGuild("Acme", ada), "general")
	ask(t, s, "POST", "/channels/"+channel+"/messages",
		`{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"label":"x","custom_id":"a"}]}]}`)
	s.Click(ada, s.Posts(channel)[0].ID, "a")
	i := s.Interactions()[0]
	token := "interaction-token-" + i.ID
	status, body := ask(t, s, "POST", "/interactions/"+i.ID+"/"+token+"/callback?with_response=true", `{"type":4,"data":{"content":"x","flags":64}}`)
	if err := s.contract.checkAnswer(callbackRoute, status, body); err != nil {
		t.Errorf("callback: %v\n%s", err, body)
	}
	status, body = ask(t, s, "POST", "/webhooks/"+s.Bot()+"/"+token, `{"content":"y"}`)
	if err := s.contract.checkAnswer("POST /webhooks/{app}/{token}", status, body); err != nil {
		t.Errorf("follow-up: %v\n%s", err, body)
	}
}

func TestRequestsBreakTheContract(t *testing.T) {
	s := Start(t, Options{NoLimits: true})
	if s.contract == nil {
		t.Skip("discord-openapi.json does not lie beside the checkout")
	}
	channel := s.AddChannel(s.AddGuild("Acme"), "general")
	for body, want := range map[string]string{
		`{"content":"secret","flags":"x"}`:                      "body.flags: breaks type",
		`{"content":"secret","components":[{"type":1}]}`:        "body.components.0",
		`{"content":"secret","allowed_mentions":{"users":[1]}}`: "body.allowed_mentions.users.0",
		`{"content":"secret","message_reference":{}}`:           "body.message_reference",
	} {
		before := len(s.Violations())
		status, _ := ask(t, s, http.MethodPost, "/channels/"+channel+"/messages", body)
		v := s.Violations()[before:]
		if status != 400 || len(v) != 1 || !strings.Contains(v[0], want) || strings.Contains(v[0], "secret") {
			t.Errorf("%s: %d %q, want %s", body, status, v, want)
		}
	}
}
