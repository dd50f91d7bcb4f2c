package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/internal/fakeslack"
)

// Slack's words for refusing a call, by what they mean. Those that are in neither
// list are about how something was written, or about nothing that matters here.
var (
	deadWords = []string{
		"invalid_auth", "account_inactive", "not_authed", "token_revoked", "token_expired", "team_access_not_granted", "app_disabled",
	}
	goneWords = []string{
		"channel_not_found", "not_in_channel", "is_archived", "is_inactive", "thread_not_found", "message_not_found", "cant_update_message",
		"cant_delete_message", "edit_window_closed", "cannot_reply_to_message", "messages_tab_disabled", "restricted_action",
		"restricted_action_read_only_channel", "restricted_action_thread_only_channel", "restricted_action_non_threadable_channel",
		"restricted_action_thread_locked", "no_permission", "user_not_found", "users_not_found", "cant_post_message", "ekm_access_denied",
		"posting_to_channel_denied", "app_access_restricted", "team_not_found", "thread_locked", "invalid_thread_ts", "user_not_in_channel",
	}
	// otherWords are a few of the others, for a checkout without the published
	// descriptions beside it.
	otherWords = []string{"invalid_blocks", "msg_too_long", "no_text", "internal_error", "fatal_error", "missing_scope", "no_such_word_yet"}
)

// documented lists the words of a method: those of its published description,
// where that is beside the checkout, and some that every method has.
func documented(t *testing.T, method string) []string {
	t.Helper()
	words := slices.Clone(otherWords)
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "contracts", "slack-methods", method+".json"))
	if err == nil {
		var d struct {
			Errors map[string]json.RawMessage `json:"errors"`
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		for word := range d.Errors {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// quickSlack is a workspace without limits, and a bot that knows it.
func quickSlack(t *testing.T) *slackWorld {
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true, AckTimeout: time.Second})
	w.extra = ", limits: {chat.postMessage: 60000, chat.update: 60000, reactions.add: 60000, conversations.replies: 60000, users.info: 60000, " +
		"agents.sessions.setStatus: 60000, chat.postEphemeral: 60000, files.getUploadURLExternal: 60000, files.completeUploadExternal: 60000, " +
		"conversations.info: 60000, conversations.history: 60000, reactions.get: 60000, users.conversations: 60000, " +
		"conversations.open: 60000, views.open: 60000, views.update: 60000, views.publish: 60000, usergroups.users.list: 60000, assistant.threads.setStatus: 60000}"
	return w
}

// room makes a channel of its own.
func (w *slackWorld) room(id string) {
	w.s.AddChannel(fakeslack.Channel{ID: id, Name: strings.ToLower(id), Members: []string{"U0ADA", "U0BOB", fakeslack.BotUser}})
}

// in has ada mention the bot in a channel.
func (w *slackWorld) in(channel, text string) place {
	ts := w.s.Say("U0ADA", channel, fakeslack.Mention+" "+text)
	return place{channel, ts, ts}
}

// scene has a method called in a turn, in a channel of its own.
type scene struct {
	play func(c string) place
	// strikes says which calls are meant; nil: those that name the channel.
	strikes func(c string) func(fakeslack.Args) bool
	// silent are the words after which nobody is answered.
	silent []string
}

// ordeal tries the words of methods against a running service.
type ordeal struct {
	*testing.T
	n      *service
	w      *slackWorld
	number int
}

// said says whether one of the words, or a plain word about a trouble, stands
// there.
func (tr *ordeal) said(at place, words ...string) func() bool {
	return func() bool {
		return slices.ContainsFunc(append(words, "Slack refused", "went wrong"), func(word string) bool { return tr.n.count(at, word) > 0 })
	}
}

// approve waits until it is asked, and until what ada approves is over.
func (tr *ordeal) approve(at place) {
	approved := false
	eventually(tr, "it asks", func() bool { approved = tr.n.approve(at); return approved || tr.said(at)() })
	if approved {
		eventually(tr, "the call is over", tr.said(at, "The tool says"))
	}
}

// word has a word strike once in a scene: the turn ends with an answer or a plain
// word, and the next question is answered.
func (tr *ordeal) word(method, word, c string, s scene) {
	strikes := func(a fakeslack.Args) bool { return a["channel"] == c || a["channel_id"] == c }
	if s.strikes != nil {
		strikes = s.strikes(c)
	}
	fault := tr.w.s.Fail(fakeslack.Fault{Method: method, Error: word, Times: 1, Match: strikes})
	at := s.play(c)
	eventually(tr, method+": "+word+" strikes", func() bool { return fault.Hits() > 0 })
	if !slices.Contains(s.silent, word) {
		eventually(tr, method+": "+word+": the turn ends", tr.said(at, "You said", "The tool says"))
	}
	fault.Cancel()
	tr.n.find(tr.w.mentionIn("ada", at, "and again"), "You said:", "and again")
}

// each gives the words of a method that are not about the token, each with a channel
// of its own; see points. What is wrong with a place is another table's where it is said by the
// call that answers.
func (tr *ordeal) each(method string, f func(word, channel string)) {
	words := slices.DeleteFunc(documented(tr.T, method), func(word string) bool {
		return slices.Contains(deadWords, word) || method == "chat.postMessage" && slices.Contains(goneWords, word)
	})
	for _, word := range points(words) {
		tr.number++
		channel := fmt.Sprintf("C1%04d", tr.number)
		tr.w.room(channel)
		f(word, channel)
	}
}

// Slack refuses any call of a turn once, with each of its words. The turn ends with its
// answer or a plain word, and the next question is answered. Here: calls that name a
// channel or a person.
func TestSlackEveryRefusal(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	tr := &ordeal{T: t, w: w, n: newService(t, w, frail, setup{})}
	tr.n.start()
	deploy := func(c string) place { at := w.in(c, "deploy prod now"); tr.approve(at); return at }
	scenes := map[string]scene{
		"chat.postMessage": {play: func(c string) place { return w.in(c, "hello") }},
		"chat.update":      {play: deploy},
		"reactions.add":    {play: deploy},
		"chat.postEphemeral": {play: func(c string) place {
			at := w.in(c, "deploy prod now")
			w.react("bob", tr.n.ask(at, `{"env":"prod"}`).place, "✅")
			tr.approve(at)
			return at
		}},
		"conversations.replies": {play: func(c string) place {
			root := w.s.Say("U0BOB", c, "prod is down")
			ts := w.s.Reply("U0ADA", c, root, fakeslack.Mention+" hello")
			return place{c, root, ts}
		}},
		"conversations.info":           {play: func(c string) place { return w.in(c, "hello <#"+c+">") }},
		"files.completeUploadExternal": {play: func(c string) place { return w.in(c, "write the report") }},
		"users.info": {
			play: func(c string) place {
				w.s.AddUser(fakeslack.User{ID: "U" + c, Name: strings.ToLower(c)})
				w.s.Join("U"+c, c)
				ts := w.s.Say("U"+c, c, fakeslack.Mention+" hello")
				return place{c, ts, ts}
			},
			strikes: func(c string) func(fakeslack.Args) bool {
				return func(a fakeslack.Args) bool { return a["user"] == "U"+c }
			},
			silent: []string{"user_not_found", "user_not_visible"}, // nobody that is known
		},
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	for method, s := range scenes {
		tr.each(method, func(word, channel string) {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				tr.word(method, word, channel, s)
			})
		})
	}
	all.Wait()
}

// An unusable place is recorded, and nothing is said there. Once it is usable again the
// next question is answered.
func TestSlackPlaceIsGone(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	n := newService(t, w, frail, setup{})
	n.start()
	var all sync.WaitGroup
	for i, word := range goneWords {
		channel := fmt.Sprintf("C2%04d", i)
		w.room(channel)
		all.Go(func() {
			fault := w.s.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: word, Times: -1, Match: func(a fakeslack.Args) bool { return a["channel"] == channel }})
			at := w.in(channel, "hello")
			eventually(t, word+": it is tried", func() bool { return fault.Hits() > 0 })
			eventually(t, word+": it is recorded", func() bool { return strings.Contains(n.logs.String(), "chat.postMessage: "+word) })
			fault.Cancel()
			n.find(w.mentionIn("ada", at, "and again"), "You said: and again")
		})
	}
	all.Wait()
}

// A token that Slack refuses ends the program with status 1 and a line in the
// log, as Slack is its only platform.
func TestSlackTokenIsDead(t *testing.T) {
	t.Parallel()
	for _, word := range deadWords {
		w := quickSlack(t)
		n := newService(t, w, frail, setup{})
		n.start()
		w.s.Fail(fakeslack.Fault{Error: word, Times: -1, Match: func(fakeslack.Args) bool { return true }})
		w.mention("ada", "hello")
		select {
		case code := <-n.done:
			if code != exitFailed || !strings.Contains(n.logs.String(), word) {
				t.Errorf("%s: status %d\n%s", word, code, n.logs)
			}
		case <-time.After(patience):
			t.Errorf("%s: it goes on", word)
		}
		if resp, err := http.Get("http://" + n.http + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				t.Errorf("%s: it says that it is ready", word)
			}
		}
		n.cancel()
		n.cancel = nil
	}
}

// Where Discord is served too it goes on being served; the log and /readyz say that
// Slack is gone.
func TestSlackTokenIsDeadBesideDiscord(t *testing.T) {
	t.Parallel()
	w, d := quickSlack(t), quickDiscord(t)
	n := newService(t, both{w, d}, frail, setup{})
	n.start()
	w.s.Fail(fakeslack.Fault{Error: "token_revoked", Times: -1, Match: func(fakeslack.Args) bool { return true }})
	w.mention("ada", "hello")
	eventually(t, "it says so", func() bool { return holds(n.logs.String(), []string{"a platform is gone", "token_revoked"}) })
	there := &service{t: t, w: d, file: n.file}
	there.find(d.mention("ada", "hello"), "You said: hello")
	resp, err := http.Get("http://" + n.http + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var said map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || resp.StatusCode != http.StatusServiceUnavailable || said["slack"] == "ok" || said["discord"] != "ok" {
		t.Errorf("/readyz: %d %v, %v", resp.StatusCode, said, err)
	}
}
