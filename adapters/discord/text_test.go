package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
	"nod/internal/ledger"
)

var someWords = dialect.Words{
	Self:    "1",
	User:    func(id string) string { return map[string]string{"1": "nod", "2": "Ada"}[id] },
	Role:    func(id string) string { return map[string]string{"7": "ops"}[id] },
	Channel: func(id string) string { return map[string]string{"8": "general"}[id] },
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"<@1> hi":                        "hi",
		"<@!1>: hi":                      "hi",
		" <@1>, <@1> hi <@!1> ":          "hi",
		"hi <@1>!":                       "hi @nod!",
		"<@1>":                           "",
		"<@2> and <@&7> in <#8> or <#9>": "@Ada and @ops in #general or #9",
		"<@3> <:smile:12> <a:wave:13>":   "@3 :smile: :wave:",
		"at <t:1800000000:R>":            "at 2027-01-15 08:00 UTC",
		"run </deploy now:55>":           "run /deploy now",
		"a < b && c > d <x> <@>":         "a < b && c > d <x> <@>",
		"<@1":                            "<@1",
		"bad \xff byte":                  "bad \uFFFD byte",
	} {
		if got := someWords.Readable(in); got != want {
			t.Errorf("readable(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{"<@1> hi <@!2>", "<t:-99999999999999:R>", "<@<@1>1>", "<:a:1><a:b:2></c:3><#4>", "<@1><@1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := someWords.Readable(s); !utf8.ValidString(got) || strings.HasPrefix(got, "<@1>") {
			t.Errorf("readable(%q) = %q", s, got)
		}
	})
}

func TestIDs(t *testing.T) {
	for _, p := range []api.Place{{Channel: "1", Thread: ""}, {Channel: "1", Thread: "2"}} {
		if got := api.PlaceOf(api.ThreadID(p)); got != p {
			t.Errorf("%v came back as %v", p, got)
		}
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	if got := api.SentAt(api.IDAt(at)); !got.Equal(at) {
		t.Errorf("%v came back as %v", at, got)
	}
	for _, id := range []string{"", "x", "-5", "99999999999999999999999"} {
		if got := api.SentAt(id); !got.IsZero() {
			t.Errorf("sentAt(%q) = %v", id, got)
		}
	}
	th := api.ThreadID(api.Place{Channel: "1", Thread: "2"})
	seen := map[string]bool{}
	for _, n := range []string{api.Nonce(th, "a", 0, 0), api.Nonce(th, "a", 1, 0), api.Nonce(th, "b", 0, 0), api.Nonce(th, "a", 0, 1), api.Nonce(api.ThreadID(api.Place{Channel: "1", Thread: "3"}), "a", 0, 0)} {
		if len(n) != 25 || seen[n] {
			t.Errorf("nonce %q", n)
		}
		seen[n] = true
	}
	if again := api.Nonce(th, "a", 0, 0); !seen[again] {
		t.Error("a nonce changes")
	}
}

// A reaction that comes again is the same event; one that is put on again isn't.
func TestTurns(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := api.Reaction{MessageID: "1", UserID: "2", Emoji: api.Emoji{Name: "✅"}}
	var one, other turns
	on := one.key(r, false, now)
	if on != one.key(r, false, now) || on != other.key(r, false, now) {
		t.Error("the same is not the same")
	}
	off, again := one.key(r, true, now), one.key(r, false, now)
	if off == on || again == on || again == off || one.key(r, false, now.Add(time.Minute)) == again {
		t.Errorf("%s, %s, %s", on, off, again)
	}
	r.Burst = true
	if one.key(r, false, now) == on {
		t.Error("a super reaction is not another")
	}
}

func TestAnswer(t *testing.T) {
	table := "| a | b |\n|---|--:|\n| 1 | 22 |"
	for in, want := range map[string][]string{
		"":                 {"(no text)"},
		" \u200b ":         {"(no text)"},
		"plain *text*":     {"plain *text*"},
		"see:\n\n" + table: {"see:\n\n```\na   b\n-  --\n1  22\n```"},
		"- x\n\n  " + strings.ReplaceAll(table, "\n", "\n  "): nil,
		"#### deep":           {"**deep**"},
		"# top":               {"# top"},
		"~~~go\nx := 1\n~~~":  {"```go\nx := 1\n```"},
		"    indented":        {"```\nindented\n```"},
		"````\na ``` b\n````": {"```\na `\u200b`\u200b` b\n```" + dialect.Unseen("```")},
	} {
		var got []string
		for _, p := range layout.AnswerParts(&chat.Text{Markdown: in}) {
			got = append(got, p.Content)
		}
		if want == nil {
			if len(got) != 1 || !strings.Contains(got[0], "```") || strings.Contains(got[0], "|--") {
				t.Errorf("%q is shown as %q", in, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func TestLongAnswer(t *testing.T) {
	code := "```go\n" + strings.Repeat("fmt.Println(1)\n", 500) + "```"
	parts := layout.AnswerParts(&chat.Text{Markdown: code})
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	for _, p := range parts {
		if text := p.Card[0]; !strings.HasPrefix(text, "```go\n") || !strings.HasSuffix(text, "\n```") {
			t.Errorf("a fence is torn: %q … %q", text[:20], text[len(text)-20:])
		}
	}
	long := strings.Repeat("A sentence of five words. ", 600)
	parts = layout.AnswerParts(&chat.Text{Markdown: long})
	if len(parts) != 1 || parts[0].File == nil || string(parts[0].File.Data) != long || !strings.Contains(parts[0].Content, "all of it is in the file") {
		t.Errorf("%d parts", len(parts))
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"# a\n\n| b | c |\n|--|--|\n| d | `e` |", "```x\n````\n```", strings.Repeat("😀", 1500), "> | a |\n> |--|\n", strings.Repeat("a b\n\n", 900), "\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts := layout.AnswerParts(&chat.Text{Markdown: s})
		if len(parts) == 0 || len(parts) > 1+len(s)/500 {
			t.Errorf("%d parts", len(parts))
		}
		for _, p := range parts {
			text, most := p.Content, layout.MostContent
			if p.Wide {
				text, most = p.Card[0], layout.MostWide
			}
			if n := markdown.UTF16(text); n > most || strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
				t.Errorf("a part of %d: %q", n, text)
			}
		}
	})
}

// An approval fits a message whatever is in it, and never hides an argument.
func FuzzApproval(f *testing.F) {
	f.Add("deploy", `{"a":"`+"```"+`"}`, "why", "role:1", 40)
	f.Add(strings.Repeat("😀`*", 300), strings.Repeat("\u202e", 700), strings.Repeat("*", 400), strings.Repeat("_", 400), 3)
	f.Fuzz(func(t *testing.T, tool, args, why, rule string, n int) {
		p := &chat.Approval{
			Call: why + tool, Tool: tool, Args: args, Digest: chat.Sum(args), Requester: chat.User{ID: chat.UserID(rule), Name: why},
			Why: why, Quorum: 10, Deadline: time.Unix(1<<40, 0), Approve: []string{rule}, Deny: []string{why},
		}
		for range min(max(n, 0), 100) {
			p.Approvers = append(p.Approvers, rule, "role:12345678901234567890")
			p.Exclude = append(p.Exclude, chat.User{ID: "12345678901234567890"})
			p.By = append(p.By, p.Requester)
		}
		for _, p.Outcome = range []chat.Outcome{"", chat.Approved, chat.Denied, chat.Expired, chat.Cancelled} {
			card, id := cardOf(p), "/12345678901234567890"
			card.Terms = append(card.Terms, layout.CardDialect.Link("Open the thread", "https://discord.com/channels"+id+id+id))
			got := layout.ApprovalPart(p, card)
			for most, form := range map[int]layout.Part{layout.MostContent: layout.PlainApproval(p, card), 4000: got} {
				text := form.Content + strings.Join(form.Card, "")
				if size := markdown.UTF16(text); size > most {
					t.Errorf("%s: it has %d", p.Outcome, size)
				}
				if form.File == nil && !strings.Contains(text, dialect.Exact(args)) {
					t.Errorf("%s: the arguments are not there", p.Outcome)
				}
				if strings.Count(text, "```") != 2 {
					t.Errorf("%s: the block is torn: %q", p.Outcome, text)
				}
			}
		}
	})
}

func FuzzSteps(f *testing.F) {
	f.Add("t", "thought", "tool", `{"a":1}`, "seen ```")
	f.Fuzz(func(t *testing.T, turn, thought, tool, args, seen string) {
		s := chat.Steps{Turn: turn, Status: thought, Items: []chat.Step{{Thought: thought, Calls: []chat.ToolCall{
			{Tool: tool, Args: args, State: chat.CallDone, Observation: seen}, {Tool: tool, State: chat.CallRunning},
		}}}}
		for _, s.Done = range []bool{false, true} {
			p := layout.StepsPart(api.ThreadID(api.Place{Channel: "12345678901234567890", Thread: "12345678901234567890"}), &s)
			if markdown.UTF16(p.Content) > layout.MostContent || len(p.Buttons) > 0 && markdown.UTF16(p.Buttons[0].(discordgo.Button).CustomID) > layout.MostCustomID {
				t.Errorf("it is too long: %q", p.Content)
			}
			for _, page := range layout.StepsPages(s) {
				if markdown.UTF16(page) > layout.MostContent-50 {
					t.Errorf("a page of %d", markdown.UTF16(page))
				}
			}
		}
	})
}

func TestThreadName(t *testing.T) {
	for in, want := range map[string]string{
		"": "Conversation", "  \n": "Conversation", "what is **Go**?\nmore": "what is Go?",
		strings.Repeat("a", 150): strings.Repeat("a", 99) + "…", "***": "———",
	} {
		if got := threadName(in); got != want {
			t.Errorf("threadName(%q) = %q, want %q", in, got, want)
		}
	}
}

// No event makes anything panic, whatever it holds.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"id":"5","channel_id":"6","author":{"id":"1"},"type":20,"interaction_metadata":{"type":2,"user":null}}`,
		`{"id":"5","channel_id":"6","guild_id":"7","author":{"id":"2"},"mentions":[{"id":"1"},null],"referenced_message":{"id":"4"},"type":19,"message_snapshots":[{},null]}`,
		`{"user_id":"3","channel_id":"6","message_id":"5","emoji":{"id":"1","name":null},"member":{"user":null}}`,
		`{"id":"5","token":"t","user":{"id":"2"},"type":3,"data":{"custom_id":"steps|6|1|0"}}`, `null`, `[]`, `7`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data := json.RawMessage(s)
		a, err := New(Options{Token: "x", Common: front.Common{Inbox: ledger.New()}, APIURL: "http://127.0.0.1:1"})
		if err != nil {
			panic(err)
		}
		a.self.me.Store(&api.User{ID: "1", Username: "nod"})
		a.atlas.Put(api.Channel{ID: "6", GuildID: "7"})
		for _, kind := range []string{"GUILD_CREATE", "CHANNEL_UPDATE", "THREAD_DELETE", "GUILD_ROLE_UPDATE", "THREAD_LIST_SYNC"} {
			_, _ = a.atlas.Draws(kind, data)
		}
		if m, err := api.ReadMessage(data); err == nil {
			m.ChannelID, m.Attachments = "6", nil
			_ = a.put(t.Context(), m, false)
			_ = a.edited(t.Context(), m)
		}
		_, _ = api.ReadReaction(data)
		_, _ = api.ReadDeletion(data)
		if in, err := api.ReadInteraction(data); err == nil {
			_, _ = layout.ReadButton(in.Data.CustomID)
		}
		host{a}.Greeted(data)
	})
}
