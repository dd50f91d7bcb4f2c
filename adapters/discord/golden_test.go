package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenPosts are posts of each kind.
func goldenPosts() map[string]chat.Post {
	args := `{"env":"prod","note":"` + "```" + ` and **bold**"}`
	waiting := asking(args)
	waiting.Number, waiting.Headline = 3, "Approval 3: deploy"
	waiting.Parameters, waiting.Grant = deployParameters, time.Hour
	approved, denied := *waiting, *waiting
	approved.Outcome, approved.Headline, approved.By = chat.Approved, "Approved by ada · done in 2 s", []chat.User{person1}
	denied.Outcome, denied.Headline, denied.By, denied.Reason = chat.Denied, "Denied by ada: too late in the day", []chat.User{person1}, "too late in the day"
	failed, more := approved, *waiting
	more.Unheeded, more.Approvers = 15*time.Minute, append(slices.Clone(waiting.Approvers), "role:200000000000000001")
	failed.Tool, failed.Headline = "restart_service_now", "Approved by ada · failed: exit status 1"
	long := asking(`{"text":"` + strings.Repeat("0123456789", 300) + `"}`)
	step := []chat.Step{{Thought: "I have to.", Calls: []chat.ToolCall{{ID: "1", Tool: "deploy", Args: args, State: chat.CallDone, Observation: "ok"}}}}
	previewed, anew := *waiting, *waiting
	previewed.Preview = &chat.Preview{Text: "would stop:\n  api-1 <@1> *now*\n  api-2\nand start 2 of version 7"}
	anew.Number, anew.Headline = 4, "Approval 4: deploy"
	anew.Why = "The preview changed since this was approved, so it asks anew."
	anew.Preview = &chat.Preview{Text: "  would stop:\n    api-1\n+   db-1\n-   api-2", Marked: true}
	channel, direct, changed, unknown := *waiting, *waiting, *waiting, approved
	channel.Home, channel.Elsewhere = api.ThreadID(api.Place{Channel: "1258291200029360128", Thread: "1573884280386355200"}), true
	direct.Home, direct.Elsewhere, direct.Direct, direct.Quiet = channel.Home, true, true, true
	changed.Was, changed.Editors = `{"env":"staging"}`, []chat.User{person1}
	unknown.Headline = "Approved by ada · outcome unknown"
	return map[string]chat.Post{
		"approval-channel": {Key: "p", Approval: &channel},
		"approval-direct":  {Key: "p", Approval: &direct},
		"approval-changed": {Key: "p", Approval: &changed},
		"approval-unknown": {Key: "p", Approval: &unknown},
		"waiting": {Key: "w", Text: &chat.Text{
			Notice: true, Markdown: "2 approvals wait for you:\n\n- Approval 3: `deploy`, asked by ada, 29 min 0 s left: [open](https://example.org/3)\n- Approval 4: `restart`, asked by ben, 12 min 0 s left: [open](https://example.org/4)",
		}},
		"approval-preview": {Key: "p", Approval: &previewed},
		"approval-anew":    {Key: "p", Approval: &anew},
		"approval":         {Key: "p", Approval: waiting},
		"approval-more":    {Key: "p", Approval: &more},
		"approval-remind": {Key: "r", ReplyTo: api.RefOf(api.Place{Channel: "1258291200029360128", Thread: "1573884280386355200"}, "1573884280386355300"), Text: &chat.Text{
			Notice: true, Markdown: "Approval 3: `deploy`, asked by ada. It still waits for a decision. 15 min left.",
			Summons: &chat.Summons{Approvers: []string{"requester", "role:200000000000000001"}, Requester: waiting.Requester},
		}},
		"question": {Key: "q", Text: &chat.Text{
			Notice: true, Markdown: "ops asks:\n```\nWhere to?\n```\nada, write the answer here.",
			Summons: &chat.Summons{Approvers: []string{"requester"}, Requester: waiting.Requester},
		}},
		"approval-approved": {Key: "p", Approval: &approved},
		"approval-failed":   {Key: "p", Approval: &failed},
		"approval-denied":   {Key: "p", Approval: &denied},
		"approval-long":     {Key: "p", Approval: long},
		"steps-working":     {Key: "s", Steps: &chat.Steps{Turn: "7", Status: "Running deploy", Items: step}},
		"steps-done":        {Key: "s", Steps: &chat.Steps{Turn: "7", Status: "Done", Done: true, Items: step, Took: 3 * time.Second}},
		"answer-long":       {Key: "a", Text: &chat.Text{Markdown: strings.Repeat("A sentence of five words. ", 200)}},
		"notice":            {Key: "n", Text: &chat.Text{Markdown: "I could not answer.", Notice: true}},
		"answer":            {Key: "a", Text: &chat.Text{Markdown: "Title\n===\n\nText with <@123>, ![a plot](https://a.example/p.png), [it][1] and a ` alone.\n\n| a | b |\n|---|:-:|\n| 1 | |\n\n---\n\n- [x] done\n\n~~~go\nx < y\n~~~\n\n[1]: https://b.example\n"}},
	}
}

// messageOf is a post, and cardOf the card of an approval, as Discord gets it.
func messageOf(p chat.Post) front.Message {
	return front.Options{Dialect: layout.CardDialect, Room: tight}.Message(p)
}

func cardOf(p *chat.Approval) *front.Card { return messageOf(chat.Post{Approval: p}).Card }

// The golden files hold what is sent for each kind of post.
func TestGolden(t *testing.T) {
	a, err := New(Options{Token: "x", Common: front.Common{Inbox: ledger.New(), Retries: true}})
	if err != nil {
		t.Fatal(err)
	}
	th := api.ThreadID(api.Place{Channel: "1258291200029360128", Thread: "1573884280386355200"})
	for name, p := range goldenPosts() {
		s := &sending{a: a, thread: th, home: home{channel: "1573884280386355200"}, post: p, parts: messagesOf(th, messageOf(p))}
		var sent []any
		for n := range s.parts {
			sent = append(sent, s.request(n, nil).Body)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(sent); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	p := asking(`{"env":"prod","note":"two\nlines","copies":2}`)
	p.Number = 3
	in := ledger.New()
	plain := *p
	p.Parameters = deployParameters
	in.Calls["7-1-1"] = chat.Again{Call: "7-1-1", Tool: p.Tool, Args: p.Args, Parameters: deployParameters}
	for name, c := range map[string]front.Click{
		"edit-form":      {Verb: front.Edit, Call: p.Call},
		"reason-form":    {Verb: front.Deny, Call: p.Call, Emoji: "❌"},
		"edit-form-json": {Verb: front.Edit, Call: p.Call},
		"again-form":     {Verb: front.Rerun, Call: "7-1-1"},
	} {
		c.Thread, in.Cards[p.Call] = th, *p
		if name == "edit-form-json" {
			in.Cards[p.Call] = plain
		}
		ans, err := front.New(a, front.Options{Common: front.Common{Inbox: in}, Room: tight}).Click(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		form := modal(*ans.Form)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(form); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// deployParameters has a parameter of each kind that a form has a field for.
const deployParameters = `{"type":"object","properties":{
	"env":{"type":"string","enum":["dev","prod","staging"],"description":"Where to"},
	"force":{"type":"boolean","description":"Even if checks fail"},
	"copies":{"type":"integer"},"why":{"type":"string"},"note":{"type":"string","maxLength":500}
},"required":["env"]}`

// golden compares with a golden file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "discord", name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// The first line is the headline, letter by letter, unless that would be markup.
func TestHeadline(t *testing.T) {
	for text, want := range map[string]string{
		"Approval 3: deploy": "", "Approval 3: restart_service_now": "", "Approved by ada · done in 2 s": "", "Approved by ada · running": "",
		"Approved by ada · failed: exit status 1": "", "Approved by ada · outcome unknown": "", "Denied by ben: too late in the day": "", "Expired": "", "Cancelled": "",
		"Approval 3: a__b__c": `Approval 3: a\_\_b\_\_c`, "Denied by _ben_": `Denied by \_ben\_`, "Denied by ben: *no*": `Denied by ben: \*no\*`, "Denied by ben: a\n# b": `Denied by ben: a \# b`,
		"Approval 3: a_b_é": `Approval 3: a\_b\_é`,
	} {
		if want == "" {
			want = text
		}
		for _, outcome := range []chat.Outcome{"", chat.Approved} {
			p := asking("{}")
			p.Headline, p.Outcome = text, outcome
			card, plain := layout.ApprovalPart(p, cardOf(p)), layout.PlainApproval(p, cardOf(p))
			if first, _, _ := strings.Cut(plain.Content, "\n"); first != want || card.Card[0] != want {
				t.Errorf("%q: %q, %q", text, first, card.Card[0])
			}
		}
	}
}

// The names of tools, most of which hold an underscore, stand in the steps and on cards
// as they are, unless that would be markup.
func TestToolNames(t *testing.T) {
	at := api.ThreadID(api.Place{Channel: "12345678901234567890", Thread: "12345678901234567890"})
	for tool, want := range map[string]string{"restart_service_now": "restart_service_now", "_deploy_": `\_deploy\_`} {
		s := chat.Steps{Turn: "t", Status: "Waiting for approval of " + tool, Items: []chat.Step{{Calls: []chat.ToolCall{{Tool: tool, State: chat.CallAsking}}}}}
		if got, want := layout.StepsPart(at, &s).Content, "⏳ Step 1 · Waiting for approval of "+want+" …"; got != want {
			t.Errorf("at work: %q, want %q", got, want)
		}
		s.Done, s.Status, s.Items[0].Calls[0].State = true, "Done", chat.CallDone
		if got, want := layout.StepsPart(at, &s).Content, "1 step · "+want; got != want {
			t.Errorf("in the end: %q, want %q", got, want)
		}
		p := asking("{}")
		p.Why, p.Marks = "This turn holds content from outside (the tool "+tool+"), so it asks.", []string{"service: from the tool " + tool + ", not from a person"}
		want := "This turn holds content from outside (the tool " + want + "), so it asks. service: from the tool " + want + ", not from a person"
		if got := layout.ApprovalPart(p, cardOf(p)).Card[1]; got != want {
			t.Errorf("on a card: %q, want %q", got, want)
		}
	}
}

// The colour of a card says what came of it; where Discord takes no card there is a
// plain message, which stays plain.
func TestCard(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]bool{"taken": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := build(t, fakediscord.Options{})
			o.run(via(func(r *http.Request) (int, string, bool) {
				if takes || r.GetBody == nil {
					return 0, "", false
				}
				body, err := r.GetBody()
				if err != nil {
					return 0, "", false
				}
				var b struct {
					Flags int `json:"flags"`
				}
				_ = json.NewDecoder(body).Decode(&b)
				return http.StatusBadRequest, `{"code":50035,"message":"Invalid Form Body"}`, b.Flags&int(discordgo.MessageFlagsIsComponentsV2) != 0
			}))
			dm := o.fake.DM(o.ada)
			p := asking(`{"env":"prod"}`)
			ref := o.post(direct(dm), chat.Post{Key: "p", Approval: p}, false)
			m := o.fake.Message(ref.ID)
			if len(m.Buttons()) != 3 || (m.Flags&int(discordgo.MessageFlagsIsComponentsV2) != 0) != takes || strings.Contains(string(m.Components), "accent_color") != takes {
				t.Errorf("flags %d, components %s", m.Flags, m.Components)
			}
			p.Outcome, p.Headline = chat.Approved, "Approved"
			if err := o.a.Edit(t.Context(), direct(dm), ref, chat.Post{Key: "p", Approval: p}); err != nil {
				t.Fatal(err)
			}
			m = o.fake.Message(ref.ID)
			if len(m.Buttons()) != 0 || !strings.HasPrefix(m.Text(), "Approved\n") || (m.Flags&int(discordgo.MessageFlagsIsComponentsV2) != 0) != takes {
				t.Errorf("in the end: flags %d, %s", m.Flags, m.Text())
			}
		})
	}
}

// A card whose change Discord refuses is not changed into a plain message, which
// Discord never takes.
func TestCardStaysCard(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	p := asking(`{"env":"prod"}`)
	ref := o.post(direct(dm), chat.Post{Key: "p", Approval: p}, false)
	o.fake.Inject(fakediscord.Fault{Route: editRoute, Status: http.StatusBadRequest, Code: api.CodeBadForm, Message: "Invalid Form Body"})
	p.Outcome = chat.Approved
	var no chat.Refused
	if err := o.a.Edit(t.Context(), direct(dm), ref, chat.Post{Key: "p", Approval: p}); !errors.As(err, &no) {
		t.Errorf("the change is refused with %v", err)
	}
	if n := len(o.fake.Calls(editRoute)); n != 1 {
		t.Errorf("%d changes were tried", n)
	}
}

const editRoute = "PATCH /channels/{channel}/messages/{message}"
