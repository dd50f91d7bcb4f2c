package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/markdown"
)

func known(name string) func(string) string {
	return func(id string) string {
		if strings.HasSuffix(id, "1") {
			return name
		}
		return ""
	}
}

var testWords = words{self: func(id string) bool { return id == "UBOT" || id == "B0BOT" }, user: func(id string) string {
	if id == "UBOT" {
		return "nod"
	}
	return known("ada")(id)
}, channel: known("general"), group: known("ops")}

func TestReadable(t *testing.T) {
	tests := []struct{ in, want string }{
		{"<@UBOT> stop", "stop"},
		{"<@UBOT>: stop", "stop"},
		{"<@UBOT>, <@UBOT|nod> stop <@UBOT>", "stop"},
		{"can <@UBOT> do it?", "can @nod do it?"},
		{"ask <@U1> and <@U2|bob> and <@U3>", "ask @ada and @bob and @U3"},
		{"<#C1> <#C2|random> <#C3|>", "#general #random #C3"},
		{"<!subteam^S1> <!subteam^S2|@dev> <!subteam^S3>", "@ops @dev @S3"},
		{"<!here> <!channel> <!everyone|everyone>", "@here @channel @everyone"},
		{"<!date^1392734382^{date}|18 Feb 2014>", "18 Feb 2014"},
		{"<https://go.dev|Go> <https://go.dev> <https://a.b/?x=1&amp;y=2|https://a.b/?x=1&amp;y=2>", "Go (https://go.dev) https://go.dev https://a.b/?x=1&y=2"},
		{"<mailto:a@b.c|a@b.c> <mailto:a@b.c|Ada>", "a@b.c Ada (mailto:a@b.c)"},
		{"1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;", "1 < 2 && 3 > 2 &lt;"},
		{"a < b <> <", "a < b <> <"},
		{"<@UBOT>", ""},
		{"<@B0BOT> and <@B0OTHER>", "and @B0OTHER"},
	}
	for _, tt := range tests {
		if got := testWords.readable(tt.in); got != tt.want {
			t.Errorf("readable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTextOf(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"typed by a person", `{"client_msg_id":"1","text":"a","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"b"}}]}`, "a"},
		{"blocks", `{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U1"},{"type":"text","text":" hi "},{"type":"emoji","name":"tada"}]}]}]}`, "<@U1> hi :tada:"},
		{
			"an alert", `{"text":"Triggered: CPU high","blocks":[{"type":"header","text":{"type":"plain_text","text":"Triggered: CPU high"}},{"type":"section","text":{"type":"mrkdwn","text":"p99 is *4 s* on api-7"}},
			{"type":"section","fields":[{"type":"mrkdwn","text":"*Owner*\npayments"}]},{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Runbook"},"url":"https://wiki/rb"}]}]}`,
			"Triggered: CPU high\np99 is *4 s* on api-7\n*Owner*\npayments\n<https://wiki/rb|Runbook>",
		},
		{"the same twice", `{"text":"*Go* &amp; see <https://go.dev|it> _now_, <@U1|ada>","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"Go","style":{"bold":true}},{"type":"text","text":" & see "},
			{"type":"link","url":"https://go.dev","text":"it"},{"type":"text","text":" now"},{"type":"text","text":", "},{"type":"user","user_id":"U1"}]}]}]}`, "*Go* &amp; see <https://go.dev|it> _now_, <@U1|ada>"},
		{"a part of a word", `{"text":"15 failed","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"5"}}]}`, "15 failed\n5"},
		{"a table", `{"blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"region"},{"type":"raw_text","text":"sales"}],[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"north"}]}]},{"type":"raw_number","value":48,"text":"48"}]]}]}`, "region | sales\nnorth | 48"},
		{"people, groups and places", `{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"usergroup","usergroup_id":"S1"},{"type":"text","text":" in "},{"type":"channel","channel_id":"C1"},{"type":"text","text":" "},{"type":"broadcast","range":"here"},{"type":"text","text":" "},{"type":"date","timestamp":1,"format":"{date}","fallback":"18 Feb"},{"type":"color","value":"#fff"}]}]}]}`, "<!subteam^S1> in <#C1> <!here> 18 Feb#fff"},
		{"a list in a list", `{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_list","style":"ordered","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]}]}]}`, "one\ntwo"},
		{"what can be ticked", `{"text":"Poll","blocks":[{"type":"actions","elements":[{"type":"checkboxes","options":[{"text":{"type":"mrkdwn","text":"*Monday*"},"description":{"type":"mrkdwn","text":"at noon"},"value":"1"},{"text":{"type":"plain_text","text":"Tuesday"},"value":"2"}]}]}]}`, "Poll\n*Monday*\nat noon\nTuesday"},
		{"a video", `{"text":"New","blocks":[{"type":"video","title":{"type":"plain_text","text":"Talk"},"title_url":"https://v","description":{"type":"plain_text","text":"on queues"},"video_url":"https://v","alt_text":"a"}]}`, "New\n<https://v|Talk>\non queues"},
		{"a form", `{"text":"Ask","blocks":[{"type":"input","label":{"type":"plain_text","text":"Which host?"},"element":{"type":"plain_text_input"}}]}`, "Ask\nWhich host?"},
		{"tasks", `{"text":"Run","blocks":[{"type":"plan","title":"Deploy","tasks":[{"task_id":"1","title":"Build","details":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"in 3 min"}]}]},"output":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"green"}]}]}}]}]}`, "Run\nDeploy\nBuild\nin 3 min\ngreen"},
		{"markdown", `{"text":"Done","blocks":[{"type":"markdown","text":"**All** is done."}]}`, "Done\n**All** is done."},
		{"a button beside a section", `{"text":"Down","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"api"},"accessory":{"type":"button","text":{"type":"plain_text","text":"Log"},"url":"https://l?a=1&b=2"}}]}`, "Down\napi\n<https://l?a=1&b=2|Log>"},
		{"two pasted tables with links", `{"client_msg_id":"1","text":"best?","attachments":[{"fallback":"","blocks":[{"type":"table","rows":[[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"link","url":"https://n","text":"north"}]}]}]]}]},{"fallback":"[no preview available]","blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"south"},{"type":"raw_text","text":""},{"type":"raw_number","value":5}]]}]}]}`, "best?\n<https://n|north>\nsouth |  | 5"},
		{"a video clip", `{"client_msg_id":"1","text":"see","files":[{"id":"F1","title":"Clip","subtype":"slack_video","transcription":{"status":"complete","preview":{"content":"it is\nslow"}}}]}`, "see\n(said in Clip:) it is slow"},
		{"a clip that is not written down yet", `{"client_msg_id":"1","text":"see","files":[{"id":"F1","name":"a.m4a","transcription":{"status":"processing"}}]}`, "see"},
		{"a pasted table", `{"client_msg_id":"1","text":"best?","attachments":[{"fallback":"[no preview available]","blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"north"},{"type":"raw_text","text":"48"}]]}]}]}`, "best?\nnorth | 48"},
		{"a voice clip", `{"client_msg_id":"1","text":"","files":[{"id":"F1","name":"audio.m4a","transcription":{"preview":{"content":"stop","has_more":true}}}]}`, "(said in audio.m4a:) stop …"},
		{"attachments", `{"attachments":[{"title":"T","text":"b","fallback":"f","fields":[{"title":"k","value":"v"}]}]}`, ""},
		{"fallback", `{"attachments":[{"fallback":"f"}]}`, ""},
		{"odd", `{"blocks":{"text":5},"attachments":"x"}`, ""},
	}
	for _, tt := range tests {
		var ev api.Event
		if err := json.Unmarshal([]byte(tt.in), &ev); err != nil {
			t.Fatal(err)
		}
		if got := textOf(ev); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"<!channel> <@U123> <#C12> <!subteam^S1> <!date^1^x>": "&lt;!channel> &lt;@U123> &lt;#C12> &lt;!subteam^S1> &lt;!date^1^x>",
		"`<!DOCTYPE html>` <https://go.dev> a < b && c":       "`<!DOCTYPE html>` <https://go.dev> a < b && c",
		"`<!channel>`\n\n```\n<@U123>\n```\n![a](b)":          "`<\u2060!channel>`\n\n```\n<\u2060@U123>\n```\n[a\\](b)",
		"[x](!channel) [y]( <@U1>) [z](https://z)":            "[x\\](!channel) [y\\]( &lt;@U1>) [z](https://z)",
		"[x][1]\n\n[1]: !channel":                             "[x][1]\n\n[1\\]: !channel",
		`[x\](!channel) [x\\](!here) [x](\!here)`:             `[x\](!channel) [x\\\](!here) [x\](\!here)`,
		"[x](javascript:a) <javascript:a> [y](a.md)":          "[x\\](javascript:a) &lt;javascript:a> [y\\](a.md)",
		"[x](HTTPS://a) <mailto:b@c> [y]: https://d":          "[x](HTTPS://a) <mailto:b@c> [y]: https://d",
	} {
		if got := layout.Harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"😀😀", 3, "😀…"}, {"a&amp;b", 5, "a…"}, {"a&amp;b&amp;", 8, "a&amp;b…"}} {
		if got := layout.Shorten(tt.in, tt.most); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestStamps(t *testing.T) {
	for in, want := range map[string]int64{
		"1700000000.000100": 1700000000000100, "1700000000": 1700000000000000, "1.5": 1500000, "0": 0,
	} {
		if got := api.SentAt(in).UnixMicro(); got != want {
			t.Errorf("sentAt(%q) = %d, want %d", in, got, want)
		}
	}
	for _, in := range []string{"", "x", "-1.000000", "1.x", "1.-5", "1.0000000"} {
		if got := api.SentAt(in); !got.IsZero() {
			t.Errorf("sentAt(%q) = %v", in, got)
		}
	}
	if got := api.Stamp(time.UnixMicro(1700000000000100)); got != "1700000000.000100" {
		t.Errorf("stamp = %q", got)
	}
}

func TestPieces(t *testing.T) {
	got := layout.Pieces("one\ntwo\nthree😀😀😀", 8)
	if diff := cmp.Diff([]string{"one\ntwo\n", "three😀", "😀😀"}, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{"<@UBOT> hi <https://a|b> &amp;lt;", "<!subteam^S1|@x><#C1|>", "<|>", "<@>", "<!>", "<!date^>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := testWords.readable(s)
		if !utf8.ValidString(got) {
			t.Errorf("readable(%q) = %q", s, got)
		}
		if layout.Mentioning.MatchString(layout.Harmless(s)) {
			t.Errorf("harmless(%q) = %q still mentions", s, layout.Harmless(s))
		}
		if e := layout.Escape(s); strings.ContainsAny(e, "<>") {
			t.Errorf("escape(%q) = %q", s, e)
		}
		if markdown.UTF16(layout.Shorten(s, 10)) > 10 {
			t.Errorf("shorten(%q) = %q", s, layout.Shorten(s, 10))
		}
		if utf8.ValidString(s) && strings.Join(layout.Pieces(s, 7), "") != strings.TrimSpace(s) {
			t.Errorf("pieces(%q) = %q", s, layout.Pieces(s, 7))
		}
		for _, p := range layout.Pieces(s, 7) {
			if markdown.UTF16(p) > 7 {
				t.Errorf("pieces(%q) has %q", s, p)
			}
		}
	})
}

func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"type":"event_callback","event_id":"E1","event":{"type":"message","channel":"C1","user":"U1","text":"hi","ts":"1.000001","blocks":[{}]}}`,
		`{"event":{"type":"message","subtype":"message_changed","channel":"C1","message":{"ts":"1.1","text":"x"},"previous_message":null}}`,
		`{"event":{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"message","channel":"C1","ts":"1.1"}}}`,
		`{"event":{"type":"channel_rename","channel":{"id":"C1"}}}`, `{"type":"app_rate_limited"}`, `[]`, `null`, `{"event":null}`, `{"event":[]}`,
		`{"event":{"type":"message","channel":"C1","ts":"1.1","text":"","attachments":[{"is_share":true,"text":"x","files":[{"id":"F1"}]},{"fields":[{"title":1}]},7]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, payload []byte) {
		_, ev, err := api.ReadEvent(payload)
		if err != nil {
			return
		}
		_ = (&Adapter{}).lane(ev)
		_ = testWords.passedOn(ev, chat.User{})
		_ = allFiles(ev)
		_, _ = mentions(textOf(ev), func(id string) bool { return id == "UBOT" })
		_ = api.MessageKeys("E", ev)
		_, _ = markOf(ev)
		_ = filesOf(ev)
	})
}
