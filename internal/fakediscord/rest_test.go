package fakediscord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/internal/fakediscord"
)

// post writes to a channel as the bot, and gives the message's id.
func post(t *testing.T, s *fakediscord.Server, channel string, body fields) string {
	t.Helper()
	status, m := call(t, s, "POST", "/channels/"+channel+"/messages", body)
	if status != 200 {
		t.Fatalf("post: %d %v", status, m)
	}
	return m["id"].(string)
}

func TestErrors(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, ActiveThreads: 2})
	msg := s.Say(s.ada, s.channel, "hi")
	inThread := s.Say(s.ada, s.OpenThread(s.ada, s.channel, s.Say(s.ada, s.channel, "x"), "t"), "y")
	threaded := s.Say(s.ada, s.channel, "threaded")
	shut := s.OpenThread(s.ada, s.channel, threaded, "shut")
	s.Archive(shut, true, true)
	mute, hidden := s.AddChannel(s.guild, "mute"), s.AddChannel(s.guild, "hidden")
	s.Overwrite(mute, s.guild, 0, fakediscord.AddReactions)
	s.Overwrite(mute, s.Bot(), 0, fakediscord.SendMessages|fakediscord.AddReactions|fakediscord.CreatePublicThreads)
	s.Overwrite(hidden, s.guild, 0, fakediscord.ViewChannel)
	quiet, dm := s.Say(s.ada, mute, "hm"), s.DM(s.ada)
	voice, forum := s.AddVoice(s.guild, "talk"), s.AddForum(s.guild, "questions")
	s.Block(s.guild, "rude")
	s.Block("", "evil.example")
	away := s.AddUser("away", "")
	s.CloseDMs(away, true)
	gone := s.Say(s.ada, s.channel, "gone")
	s.Delete(gone)
	hi, named := fields{"content": "hi"}, fields{"name": "talk"}
	messages := func(c string) string { return "POST /channels/" + c + "/messages" }
	of := func(c, m string) string { return "/channels/" + c + "/messages/" + m }
	ok := url.PathEscape("✅")

	for name, c := range map[string]struct {
		request string
		body    any
		status  int
		code    float64
	}{
		"channel":         {"GET /channels/1", nil, 404, 10003},
		"hidden":          {"GET /channels/" + hidden, nil, 403, 50001},
		"message":         {"GET " + of(s.channel, "1"), nil, 404, 10008},
		"deleted":         {"GET " + of(s.channel, gone), nil, 404, 10008},
		"elsewhere":       {"GET " + of(mute, msg), nil, 404, 10008},
		"guild":           {"GET /guilds/1", nil, 404, 10004},
		"member":          {"GET /guilds/" + s.guild + "/members/" + away, nil, 404, 10007},
		"user":            {"GET /guilds/" + s.guild + "/members/1", nil, 404, 10013},
		"mute":            {messages(mute), hi, 403, 50013},
		"no DMs":          {messages(s.DM(away)), hi, 403, 50007},
		"locked":          {messages(shut), hi, 400, 160005},
		"open locked":     {"PATCH /channels/" + shut, fields{"archived": false}, 403, 50013},
		"open a channel":  {"PATCH /channels/" + s.channel, fields{"archived": false}, 400, 50024},
		"AutoMod":         {messages(s.channel), fields{"content": "a rude word"}, 400, 200000},
		"harmful":         {messages(s.channel), fields{"content": "https://evil.example"}, 400, 240000},
		"voice":           {messages(voice), hi, 403, 50001},
		"forum":           {messages(forum), hi, 400, 50024},
		"empty":           {messages(s.channel), fields{"content": " \n"}, 400, 50006},
		"reply to none":   {messages(s.channel), fields{"content": "x", "message_reference": fields{"message_id": gone}}, 400, 50035},
		"edit another's":  {"PATCH " + of(s.channel, msg), hi, 403, 50005},
		"delete anothers": {"DELETE " + of(s.channel, msg), nil, 403, 50013},
		"react":           {"PUT " + of(mute, quiet) + "/reactions/" + ok + "/@me", nil, 403, 50013},
		"react with text": {"PUT " + of(s.channel, msg) + "/reactions/check/@me", nil, 400, 10014},
		"take another's":  {"DELETE " + of(s.channel, msg) + "/reactions/" + ok + "/" + s.ada, nil, 403, 50013},
		"thread mute":     {"POST " + of(mute, quiet) + "/threads", named, 403, 50013},
		"thread in DM":    {"POST " + of(dm, s.Say(s.ada, dm, "x")) + "/threads", named, 400, 50024},
		"thread in one":   {"POST " + of(s.threadOf(inThread), inThread) + "/threads", named, 400, 50024},
		"thread twice":    {"POST " + of(s.channel, threaded) + "/threads", named, 400, 160004},
		"thread unnamed":  {"POST " + of(s.channel, msg) + "/threads", fields{"name": " "}, 400, 50035},
		"limit":           {"GET /channels/" + s.channel + "/messages?limit=101", nil, 400, 50035},
		"two pages":       {"GET /channels/" + s.channel + "/messages?after=1&before=2", nil, 400, 50035},
		"interaction":     {"POST /interactions/1/x/callback", fields{"type": 6}, 404, 10062},
		"webhook":         {"POST /webhooks/" + s.Bot() + "/x", hi, 404, 10015},
		"application":     {"PUT /applications/1/commands", []any{}, 403, 20012},
		"unknown route":   {"GET /nothing", nil, 404, 0},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			status, e := call(t, s.Server, method, path, c.body)
			if status != c.status || e["code"] != c.code {
				t.Errorf("got %d %v, want %d %v", status, e, c.status, c.code)
			}
		})
	}
	if status, m := call(t, s.Server, "POST", of(s.channel, msg)+"/threads", named); status != 201 || m["id"] != msg {
		t.Errorf("a thread: %d %v, want 201 with the message's id", status, m)
	}
	last := s.Say(s.ada, s.channel, "one more")
	if _, e := call(t, s.Server, "POST", of(s.channel, last)+"/threads", named); e["code"] != 160006.0 {
		t.Errorf("too many threads: %v, want 160006", e)
	}
}

func (u usual) threadOf(message string) string { return u.Message(message).Channel }

func TestAuthority(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	for header, want := range map[string]int{"": 401, "Bot wrong": 401, "token": 401, "Bot token": 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/v9/users/@me", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, resp.StatusCode, want)
		}
	}
}

// A bot of Slack whose fake has ended calls whatever has its port now.
func TestCallsOfOthers(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	for header, want := range map[string]int{"Bearer xoxb-1": 0, "Bot token": 1} {
		before := len(s.Violations())
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/apps.connections.open", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := len(s.Violations()) - before; got != want || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %d faults, status %d", header, got, resp.StatusCode)
		}
	}
}

func TestBadForms(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	button := func(id string) fields {
		return fields{"type": 2, "style": 1, "label": "x", "custom_id": id}
	}
	row := func(c ...any) []any { return []any{fields{"type": 1, "components": c}} }
	v2 := func(c ...any) fields { return fields{"flags": 1 << 15, "components": c} }
	text := func(n int) fields { return fields{"type": 10, "content": strings.Repeat("x", n)} }
	var many []any
	for range 41 {
		many = append(many, text(1))
	}
	for name, c := range map[string]struct {
		body  fields
		field string // empty: fine
	}{
		"2,000":             {fields{"content": strings.Repeat("é", 2000)}, ""},
		"2,001":             {fields{"content": strings.Repeat("é", 2001)}, "content"},
		"nonce":             {fields{"content": "x", "nonce": strings.Repeat("n", 25)}, ""},
		"long nonce":        {fields{"content": "x", "nonce": strings.Repeat("n", 26)}, "nonce"},
		"parse and users":   {fields{"content": "x", "allowed_mentions": fields{"parse": []string{"users"}, "users": []string{s.ada}}}, "allowed_mentions"},
		"no pings":          {fields{"content": "x", "allowed_mentions": fields{"parse": []string{}}}, ""},
		"embed":             {fields{"embeds": []any{fields{"description": strings.Repeat("x", 4097)}}}, "description"},
		"embeds":            {fields{"embeds": []any{fields{"description": strings.Repeat("x", 4000)}, fields{"description": strings.Repeat("x", 2001)}}}, "embeds"},
		"button":            {fields{"content": "x", "components": row(button("a"))}, ""},
		"custom id":         {fields{"content": "x", "components": row(button(strings.Repeat("a", 101)))}, "custom_id"},
		"no custom id":      {fields{"content": "x", "components": row(fields{"type": 2, "style": 1, "label": "x"})}, "custom_id"},
		"same custom id":    {fields{"content": "x", "components": row(button("a"), button("a"))}, "custom_id"},
		"no label":          {fields{"content": "x", "components": row(fields{"type": 2, "style": 1, "custom_id": "a"})}, "label"},
		"long label":        {fields{"content": "x", "components": row(fields{"type": 2, "style": 1, "custom_id": "a", "label": strings.Repeat("x", 81)})}, "label"},
		"six buttons":       {fields{"content": "x", "components": row(button("a"), button("b"), button("c"), button("d"), button("e"), button("f"))}, "components"},
		"text without flag": {fields{"content": "x", "components": []any{text(1)}}, "type"},
		"text":              {v2(text(4000)), ""},
		"too much text":     {v2(text(2000), text(2001)), "components"},
		"too many":          {v2(many...), "components"},
		"content and flag":  {fields{"content": "x", "flags": 1 << 15, "components": []any{text(1)}}, "content"},
		"nested container":  {v2(fields{"type": 17, "components": []any{fields{"type": 17, "components": []any{text(1)}}}}), ""},
		"unknown component": {v2(fields{"type": 99}), ""},
		"wrong type":        {fields{"content": 7}, "content"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.Violations())
			status, e := call(t, s.Server, "POST", "/channels/"+s.channel+"/messages", c.body)
			bad := c.field != "" || name == "nested container" || name == "unknown component"
			if bad != (status == 400) || bad != (len(s.Violations()) > before) {
				t.Fatalf("got %d %v, violations %v", status, e, s.Violations()[before:])
			}
			if raw, _ := json.Marshal(e["errors"]); !strings.Contains(string(raw), c.field) {
				t.Errorf("the errors don't name %s: %s", c.field, raw)
			}
		})
	}
	for _, v := range s.Violations() {
		if strings.Contains(v, "xxx") {
			t.Errorf("a violation quotes a message: %s", v)
		}
	}
}

func TestNonce(t *testing.T) {
	now := newClock()
	s := start(t, fakediscord.Options{NoLimits: true, Now: now.Now})
	body := fields{"content": "once", "nonce": "n1", "enforce_nonce": true}
	_, first := call(t, s.Server, "POST", "/channels/"+s.channel+"/messages", body)
	id := first["id"].(string)
	if first["nonce"] != "n1" {
		t.Errorf("the answer has the nonce %v", first["nonce"])
	}
	if again := post(t, s.Server, s.channel, body); again != id {
		t.Errorf("posted again as %s, want %s", again, id)
	}
	if _, m := call(t, s.Server, "GET", "/channels/"+s.channel+"/messages/"+id, nil); m["nonce"] != nil {
		t.Errorf("history has the nonce %v", m["nonce"])
	}
	if other := post(t, s.Server, s.channel, fields{"content": "x", "nonce": "n1"}); other == id {
		t.Error("a nonce counts without enforce_nonce")
	}
	id = post(t, s.Server, s.channel, fields{"content": "x", "nonce": "n2", "enforce_nonce": true})
	s.Delete(id)
	status, e := call(t, s.Server, "POST", "/channels/"+s.channel+"/messages", fields{"content": "x", "nonce": "n2", "enforce_nonce": true})
	if status != 404 || e["code"] != 10008.0 {
		t.Errorf("a deleted message's nonce: %d %v, want 404 10008", status, e)
	}
	now.advance(3 * time.Minute)
	before := len(s.Posts(s.channel))
	post(t, s.Server, s.channel, body)
	if got := len(s.Posts(s.channel)) - before; got != 1 {
		t.Errorf("after the window %d posts, want 1", got)
	}
}

func TestPages(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Privileged: fakediscord.IntentMessageContent})
	var ids []string
	for i := range 5 {
		ids = append(ids, s.Say(s.ada, s.channel, fmt.Sprint(i)))
	}
	for query, want := range map[string]string{
		"":                              "43210",
		"limit=2":                       "43",
		"limit=2&before=" + ids[2]:      "10",
		"limit=2&after=" + ids[1]:       "32",
		"limit=3&after=0":               "210",
		"limit=3&around=" + ids[2]:      "321",
		"after=" + ids[4]:               "",
		"limit=1&before=" + "1" + "000": "",
	} {
		_, body, _ := callRaw(t, s.Server, "GET", "/channels/"+s.channel+"/messages?"+query, nil)
		var found []struct{ Content string }
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range found {
			got += m.Content
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", query, got, want)
		}
	}
}

func TestReactions(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	bob := s.AddUser("bob", "")
	m := s.Say(s.ada, s.channel, "vote")
	k, _ := connect(t, s.Server, basic, nil)
	k.event("GUILD_CREATE")
	at := "/channels/" + s.channel + "/messages/" + m + "/reactions/" + url.PathEscape("✅")
	for range 2 {
		if status, e := call(t, s.Server, "PUT", at+"/@me", nil); status != 204 {
			t.Fatalf("%d %v", status, e)
		}
	}
	s.React(bob, m, "✅")
	s.Burst(s.ada, m, "✅")
	s.Unburst(bob, m, "✅")
	var got []string
	for range 3 {
		d := k.event("MESSAGE_REACTION_ADD").D
		_, member := d["member"]
		got = append(got, fmt.Sprint(d["burst"], d["type"], d["message_author_id"] == s.ada, member))
	}
	want := []string{"false 0 true true", "false 0 true false", "true 1 true true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for query, want := range map[string][]string{
		"": {s.Bot(), bob}, "?limit=1": {s.Bot()}, "?after=" + s.Bot(): {bob}, "?type=1": {s.ada},
	} {
		_, body, _ := callRaw(t, s.Server, "GET", at+query, nil)
		var found []struct{ ID string }
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, u := range found {
			ids = append(ids, u.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	s.ClearReactions(m, "")
	k.event("MESSAGE_REACTION_REMOVE_ALL")
	if left := s.Reactions(m); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestThreadOfAMessage(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	k, _ := connect(t, s.Server, basic, nil)
	m := s.Say(s.ada, s.channel, "question")
	k.event("MESSAGE_CREATE")
	call(t, s.Server, "POST", "/channels/"+s.channel+"/messages/"+m+"/threads", fields{"name": "Question"})
	post(t, s.Server, m, fields{"content": "answer"})
	s.Archive(m, true, false)
	post(t, s.Server, m, fields{"content": "later"})
	s.Emit("END", []byte(`{}`))
	want := []string{
		"THREAD_CREATE", "MESSAGE_UPDATE", "THREAD_MEMBERS_UPDATE", "MESSAGE_CREATE", "MESSAGE_CREATE",
		"THREAD_UPDATE", "THREAD_UPDATE", "MESSAGE_CREATE", "END",
	}
	if diff := cmp.Diff(want, k.kinds("END")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	threads := s.Threads(s.channel)
	wantThreads := []fakediscord.Thread{{ID: m, Parent: s.channel, Name: "Question", Owner: s.Bot(), Members: []string{s.Bot(), s.ada}}}
	if diff := cmp.Diff(wantThreads, threads); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if got := len(s.Posts(m)); got != 2 {
		t.Errorf("%d posts in the thread, want 2", got)
	}
	_, active := call(t, s.Server, "GET", "/guilds/"+s.guild+"/threads/active", nil)
	if members, _ := active["members"].([]any); len(members) != 1 {
		t.Errorf("active threads: %v", active)
	}
}

// A member who may write in an archived thread may open it. Archiving it, or opening a
// locked one, takes more rights.
func TestThreadIsOpened(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	th := s.OpenThread(s.ada, s.channel, "", "talk")
	change := func(body fields, status int) {
		t.Helper()
		if got, m := call(t, s.Server, "PATCH", "/channels/"+th, body); got != status {
			t.Errorf("%v: status %d: %v", body, got, m)
		}
	}
	archived := func(want bool) {
		t.Helper()
		if got := s.Threads(s.channel)[0]; got.Archived != want {
			t.Errorf("the thread is %+v", got)
		}
	}
	s.Archive(th, true, false)
	change(fields{"name": "other"}, 403)
	change(fields{"archived": false}, 200)
	archived(false)
	change(fields{"archived": true}, 403)
	s.BotMay(s.guild, fakediscord.Usual|fakediscord.ManageThreads)
	change(fields{"archived": true, "locked": true}, 200)
	archived(true)
	change(fields{"locked": false}, 400)
	change(fields{"archived": false}, 200)
	archived(false)
}

func TestPings(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true, Invite: fakediscord.Usual | fakediscord.MentionEveryone})
	ops := s.AddRole(s.guild, "ops", 0)
	hers := s.Say(s.ada, s.channel, "hi")
	text := fmt.Sprintf("<@%s> <@&%s> @everyone", s.ada, ops)
	for name, c := range map[string]struct {
		allowed any
		reply   bool
		want    []string
	}{
		"absent":   {nil, false, []string{s.ada, ops, "everyone"}},
		"nobody":   {fields{"parse": []string{}}, true, nil},
		"users":    {fields{"parse": []string{"users"}}, false, []string{s.ada}},
		"one user": {fields{"users": []string{s.ada}}, false, []string{s.ada}},
		"replied":  {fields{"parse": []string{}, "replied_user": true}, true, []string{s.ada}},
	} {
		t.Run(name, func(t *testing.T) {
			body := fields{"content": text}
			if c.allowed != nil {
				body["allowed_mentions"] = c.allowed
			}
			if c.reply {
				body["message_reference"] = fields{"message_id": hers}
			}
			m := s.Message(post(t, s.Server, s.channel, body))
			if diff := cmp.Diff(c.want, m.Pings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	s := start(t, fakediscord.Options{NoLimits: true})
	route, path := "POST /channels/{channel}/messages", "/channels/"+s.channel+"/messages"
	s.Inject(fakediscord.Fault{Route: route, Status: 502, Skip: 1})
	s.Inject(fakediscord.Fault{Route: route, Status: 500, After: true})
	s.Inject(fakediscord.Fault{Status: 429, RetryAfter: 1500 * time.Millisecond, Global: true})
	var got []string
	for range 3 {
		status, e, h := callRaw(t, s.Server, "POST", path, fields{"content": "x"})
		line := fmt.Sprint(status, " ", len(s.Posts(s.channel)))
		if status == 429 {
			line += fmt.Sprint(" ", h.Get("Retry-After"), h.Get("X-RateLimit-Global"), strings.Contains(string(e), `"retry_after":1.5`))
		}
		got = append(got, line)
	}
	// The first passes the 502 by and meets the 500, after its effect.
	want := []string{"500 1", "502 1", "429 1 2truetrue"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status and posts (-want +got):\n%s", diff)
	}
	for _, f := range []fakediscord.Fault{{Cut: true, After: true}, {Hang: true}, {Hang: true, After: true}} {
		f.Route = route
		s.Inject(f)
		before := len(s.Posts(s.channel))
		ctx, cancel := context.WithCancel(t.Context())
		seen := len(s.Calls(route))
		ended := make(chan error)
		go func() { ended <- try(ctx, s.Server, path) }()
		until(t, s.Server, "the call is seen", func() bool { return len(s.Calls(route)) > seen })
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%+v: there was an answer", f)
		}
		if took := len(s.Posts(s.channel)) > before; took != f.After {
			t.Errorf("%+v: effect %t", f, took)
		}
	}
}

// try posts and gives the error of the connection.
func try(ctx context.Context, s *fakediscord.Server, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v10"+path, strings.NewReader(`{"content":"x"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bot "+s.Token())
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}
