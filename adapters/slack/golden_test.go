package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/front"
	"nod/internal/ledger"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenPosts are posts of each kind.
func goldenPosts() map[string]chat.Post {
	asks := approval()
	asks.Number, asks.Headline = 3, "Approval 3: deploy"
	asks.Parameters, asks.Grant = deployParameters, time.Hour
	done, denied, long, more := *asks, *asks, *asks, *asks
	more.Unheeded, more.Approvers = 15*time.Minute, append(slices.Clone(asks.Approvers), "group:S0ONCALL")
	done.Outcome, done.By, done.Headline = chat.Approved, []chat.User{{ID: "U0ADA", Name: "ada"}}, "Approved by ada · done in 2 s"
	denied.Outcome, denied.By, denied.Why = chat.Denied, []chat.User{{ID: "U0BOB", Name: "ben"}}, "it <read> a page"
	denied.Headline = "Denied by ben: too late in the day"
	long.Args = `{"text":"` + string(bytes.Repeat([]byte("0123456789"), 300)) + `"}`
	previewed, anew := *asks, *asks
	previewed.Preview = &chat.Preview{Text: "would stop:\n  api-1 <@U1> *now*\n  api-2\nand start 2 of version 7"}
	anew.Number, anew.Headline = 4, "Approval 4: deploy"
	anew.Why = "The preview changed since this was approved, so it asks anew."
	anew.Preview = &chat.Preview{Text: "  would stop:\n    api-1\n+   db-1\n-   api-2", Marked: true}
	channel, direct, changed, unknown := *asks, *asks, *asks, done
	channel.Home, channel.Elsewhere = thread(general, "1.000000"), true
	direct.Home, direct.Elsewhere, direct.Direct, direct.Quiet = channel.Home, true, true, true
	changed.Was, changed.Editors = `{"env":"staging"}`, []chat.User{{ID: "U0BOB", Name: "ben"}}
	unknown.Headline = "Approved by ada · outcome unknown"
	return map[string]chat.Post{
		"approval-channel": {Approval: &channel},
		"approval-direct":  {Approval: &direct},
		"approval-changed": {Approval: &changed},
		"approval-unknown": {Approval: &unknown},
		"waiting": {Text: &chat.Text{
			Notice: true, Markdown: "2 approvals wait for you:\n\n- Approval 3: `deploy`, asked by ada, 29 min 0 s left: [open](https://example.org/3)\n- Approval 4: `restart`, asked by ben, 12 min 0 s left: [open](https://example.org/4)",
		}},
		"approval-preview": {Approval: &previewed},
		"approval-anew":    {Approval: &anew},
		"steps-working":    {Steps: steps(1, false)},
		"steps-done":       {Steps: steps(2, true)},
		"steps-waiting":    {Steps: &chat.Steps{Turn: "7", Status: "Thinking"}},
		"approval":         {Approval: asks},
		"approval-more":    {Approval: &more},
		"approval-remind": {Text: &chat.Text{
			Notice: true, Markdown: "Approval 3: `deploy`, asked by ada. It still waits for a decision. 15 min left.",
			Summons: &chat.Summons{Card: api.InThread(thread(general, "1.000000"), "1.000300"), Approvers: []string{"requester", "group:S012"}, Requester: asks.Requester},
		}},
		"question": {Text: &chat.Text{
			Notice: true, Markdown: "ops asks:\n```\nWhere to?\n```\nada, write the answer here.",
			Summons: &chat.Summons{Approvers: []string{"requester"}, Requester: asks.Requester},
		}},
		"approval-done":   {Approval: &done},
		"approval-denied": {Approval: &denied},
		"approval-long":   {Approval: &long},
		"notice":          {Text: &chat.Text{Notice: true, Markdown: "Stopped by ada."}},
		"answer-again": {Text: &chat.Text{Markdown: "**Try 2**\n\nIt is 42.", Earlier: &chat.Earlier{
			Ref: api.InThread(thread(general, "1.000000"), "1.000200"), Try: 1, Markdown: "It is *41*, says <@U123>:\n\n```go\nx < y\n```",
		}}},
		"answer-steps": {Text: &chat.Text{Markdown: "It is 42.", Steps: steps(2, true)}},
		"answer":       {Text: &chat.Text{Markdown: "# Title\n\nText with <@U123>\n\n| a | b |\n|---|:-:|\n| 1 | |\n\n```go\nx < y\n```\n"}},
	}
}

// messageOf is a post as Slack gets it.
func messageOf(th chat.ThreadID, p chat.Post) front.Message {
	m := layout.Drawn.Message(p)
	if p.Text != nil && p.Text.Earlier != nil {
		m.Earlier = layout.Permalink("https://example.slack.com/", th, p.Text.Earlier.Ref)
	}
	return m
}

// The golden files hold what is sent for each kind of post.
func TestGolden(t *testing.T) {
	th, in := thread(general, "1.000000"), everything
	in.Thread, in.Workspace = th, "https://example.slack.com/"
	for name, p := range goldenPosts() {
		type sent struct {
			Text   string `json:"text"`
			Blocks any    `json:"blocks,omitempty"`
		}
		var got [][]sent
		for _, forms := range partsOf(messageOf(th, p), in) {
			var all []sent
			for _, f := range forms.On("") {
				s := sent{Text: f.Text}
				if f.Blocks != nil {
					s.Blocks = f.Blocks
				}
				all = append(all, s)
			}
			got = append(got, all)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(got); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// deployParameters has a parameter of each kind that a form has a field for.
const deployParameters = `{"type":"object","properties":{
	"env":{"type":"string","enum":["<!channel> & co","prod","staging"],"description":"Where to"},
	"force":{"type":"boolean","description":"Even if checks fail"},
	"copies":{"type":"integer"},"why":{"type":"string"},"note":{"type":"string","maxLength":500}
},"required":["env"]}`

// golden compares with a golden file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "slack", name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// viewer is a test, or a try of one.
type viewer interface {
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// goldenViews are what people open, once change has changed what stands in it.
func goldenViews(t viewer, change func(any)) map[string]any {
	th := thread(general, "1.000000")
	shown := chat.Home{
		Waiting: []chat.Waits{{Thread: th, Ref: api.InThread(th, "1.000300"), Number: 3, Tool: "deploy", Requester: chat.User{ID: "U0ADA"}, Deadline: time.Unix(1795000000, 0)}},
		Limits:  []chat.Allowance{{Of: "what one person may use in a day", Used: "1200", Most: "200000 tokens"}},
		Facts:   []string{`2: "answers in French" (ada, 29 November 2026)`},
		Tools: []chat.Offer{
			{Name: "clock", About: "Tells the time.", Risk: "runs by itself"},
			{Name: "deploy", About: "Deploy a service.", Risk: "asks for approval: requester"},
		},
	}
	change(&shown)
	home := homeView(shown, "https://example.slack.com/", time.Unix(1794999000, 0))
	again := *steps(2, true)
	change(&again)
	again.Items[0].Calls[0].ID, again.Items[0].Calls[0].Again = "7-1-1", true
	window := stepsWindow("slack:x 7", stepPages("slack:x", again), 0)
	in := ledger.New()
	asks := approval()
	asks.Number, asks.Parameters, asks.Args = 3, deployParameters, `{"env":"prod","note":"two\nlines","copies":2}`
	args := asks.Args
	change(asks)
	if args != asks.Args {
		asks.Args = `{"env":` + strconv.Quote(asks.Args) + `}`
	}
	in.Cards["c1"] = *asks
	asks.Parameters = ""
	in.Cards["c2"] = *asks
	in.Calls["c1"] = chat.Again{Call: "c1", Tool: "deploy", Parameters: deployParameters, Args: `{"env":"prod","copies":2}`}
	f := front.New(&Adapter{}, front.Options{Common: front.Common{Inbox: in}, Platform: Platform, Room: layout.Roomy})
	form := func(c front.Click) any {
		ans, err := f.Click(t.Context(), c)
		if err != nil || ans.Form == nil {
			t.Fatalf("%s: %+v, %v", c.Verb, ans, err)
		}
		view, err := formView(*ans.Form)
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	answer, short := api.InThread(th, "1.000300"), chat.ThreadID{Platform: Platform, Channel: "x"}
	return map[string]any{
		"again-form":     form(front.Click{Verb: front.Rerun, Thread: short, Call: "c1"}),
		"edit-form":      form(front.Click{Verb: front.Edit, Thread: th, Call: "c1"}),
		"edit-form-json": form(front.Click{Verb: front.Edit, Thread: th, Call: "c2"}),
		"reason-form":    form(front.Click{Verb: front.Deny, Thread: short, Call: "c1"}),
		"opinion-form":   form(front.Click{Verb: front.Bad, On: answer}),
		"opinion-asked":  Confided(f.Wonder(th, chat.User{ID: "U0ADA"}, answer)),
		"home":           home, "steps-window": window,
	}
}

// So do these for what people open.
func TestGoldenViews(t *testing.T) {
	for name, view := range goldenViews(t, func(any) {}) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(view); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
