package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/internal/fakeslack"
)

// slackWorld is a Slack workspace.
type slackWorld struct {
	s     *fakeslack.Server
	users map[string]string // name → id
	extra string            // more of the section
}

func newSlackWorld(t testing.TB, o fakeslack.Options) *slackWorld {
	t.Helper()
	w := &slackWorld{users: map[string]string{"ada": "U0ADA", "bob": "U0BOB", "eve": "U0EVE"}}
	for name, id := range w.users {
		o.Users = append(o.Users, fakeslack.User{ID: id, Name: name, TZ: "Europe/Berlin"})
	}
	o.Channels = []fakeslack.Channel{{ID: "C0GEN", Name: "general", Members: []string{"U0ADA", "U0BOB", "U0EVE", fakeslack.BotUser}}}
	o.Channels = append(o.Channels, fakeslack.Channel{ID: "C0OPS", Name: "ops", Members: []string{"U0BOB", fakeslack.BotUser}})
	o.Groups = []fakeslack.Group{{ID: "S012", Handle: "ops", Users: []string{"U0BOB"}}}
	o.Lenient = true         // newService reports violations
	o.TriggerLife = patience // a busy machine is slower than Slack is patient
	o.AckTimeout = cmp.Or(o.AckTimeout, 30*time.Second)
	w.s = fakeslack.Start(t, o)
	return w
}

func (w *slackWorld) config() string {
	return fmt.Sprintf("slack: {app_token: \"${SLACK_APP_TOKEN}\", bot_token: \"${SLACK_BOT_TOKEN}\", api_url: %q%s}", w.s.APIURL(), w.extra)
}

func (w *slackWorld) env() map[string]string {
	return map[string]string{"SLACK_APP_TOKEN": w.s.AppToken(), "SLACK_BOT_TOKEN": w.s.BotToken()}
}

func (w *slackWorld) dm(user, text string) place {
	ch := w.s.DM(w.users[user])
	ts := w.s.Say(w.users[user], ch, text)
	return place{ch, ts, ts}
}

func (w *slackWorld) mention(user, text string) place {
	ts := w.s.Say(w.users[user], "C0GEN", fakeslack.Mention+" "+text)
	return place{"C0GEN", ts, ts}
}

func (w *slackWorld) attach(user, text, name, content string) place {
	ts := w.s.Write(fakeslack.Line{User: w.users[user], Channel: "C0GEN", Text: fakeslack.Mention + " " + text, Files: []fakeslack.Upload{{Name: name, Data: []byte(content)}}})
	return place{"C0GEN", ts, ts}
}

func (w *slackWorld) reply(user string, to place, text string) place {
	ts := w.s.Reply(w.users[user], to.channel, to.thread, text)
	return place{to.channel, to.thread, ts}
}

func (w *slackWorld) mentionIn(user string, to place, text string) place {
	return w.reply(user, to, fakeslack.Mention+" "+text)
}

func (w *slackWorld) edit(user string, at place, text string) {
	w.s.Edit(w.users[user], at.channel, at.message, text)
}

func (w *slackWorld) remove(user string, at place) {
	w.s.Delete(w.users[user], at.channel, at.message)
}

var slackEmoji = map[string]string{
	"✅": "white_check_mark", "❌": "x", "👍": "+1", "👍🏽": "+1::skin-tone-4", "👎": "-1", "🛑": "octagonal_sign", "🎉": "tada", "👀": "eyes", "👏": "clap", "🔄": "arrows_counterclockwise",
}

func (w *slackWorld) react(user string, at place, emoji string) {
	w.s.React(w.users[user], at.channel, at.message, slackEmoji[emoji])
}

func (w *slackWorld) unreact(user string, at place, emoji string) {
	w.s.Unreact(w.users[user], at.channel, at.message, slackEmoji[emoji])
}

func (w *slackWorld) posts(at place) []post {
	var out []post
	for _, m := range w.s.Messages(at.channel, at.thread) {
		if m.Bot() && !m.Deleted {
			p := post{place: place{at.channel, at.thread, m.TS}, text: m.Text + "\n" + texts(m.Blocks)}
			for _, f := range m.Files {
				p.text, p.file = p.text+"\n"+f.Title, string(f.Data)
			}
			out = append(out, p)
		}
	}
	return out
}

// texts gives every text of blocks, as a reader would see them.
func texts(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if s, ok := v["text"].(string); ok {
				b.WriteString(s + "\n")
				var flat bytes.Buffer // arguments are laid out for reading
				if strings.HasPrefix(s, "{\n") && json.Compact(&flat, []byte(s)) == nil {
					b.WriteString(flat.String() + "\n")
				}
			}
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(v[k])
			}
		}
	}
	walk(v)
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(b.String())
}

// open is nothing to do: the steps are in the message, collapsed.
func (w *slackWorld) open(_ string, steps post) string { return steps.text }

func (w *slackWorld) calls() int { return len(w.s.Calls("")) }

func (w *slackWorld) stall(i int, after bool) (struck func() bool, release func()) {
	hold := make(chan struct{})
	p := w.s.Fail(fakeslack.Fault{Skip: i, Hold: hold, After: after, Drop: after})
	return func() bool { return p.Hits() > 0 }, sync.OnceFunc(func() {
		close(hold)
		p.Cancel()
	})
}

func (w *slackWorld) told(user string, at place) []string {
	var out []string
	for _, e := range w.s.Ephemerals(w.users[user]) {
		if e.Channel == at.channel {
			out = append(out, e.Text+"\n"+texts(e.Blocks))
		}
	}
	return out
}

func (w *slackWorld) ballot() []string { return []string{"✅", "❌"} }

func (w *slackWorld) reactions(at place) []string {
	var out []string
	for name, by := range w.s.Reactions(at.channel, at.message) {
		if slices.Contains(by, fakeslack.BotUser) {
			for emoji, n := range slackEmoji {
				if n == name {
					out = append(out, emoji)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *slackWorld) approver(user string) string { return "user:" + w.users[user] }
func (w *slackWorld) cut()                        { w.s.CutSockets(0) }
func (w *slackWorld) faults() []string            { return w.s.Violations() }
