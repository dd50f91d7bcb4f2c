package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

const section = `{"type":"section","text":{"type":"mrkdwn","text":"x"}}`

func box(extra string, children ...string) string {
	return `[{"type":"container","title":{"type":"plain_text","text":"Steps"}` + extra +
		`,"child_blocks":[` + strings.Join(children, ",") + `]}]`
}

func many(n int, block string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = block
	}
	return out
}

func repeat(n int, block string) string { return "[" + strings.Join(many(n, block), ",") + "]" }

// Slack takes some blocks and refuses others; the error names the place.
func TestBlocks(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	button := `{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"}}`
	task := `{"type":"task_card","task_id":"%s","title":"t","status":"%s"}`
	tests := []struct{ name, blocks, wrong string }{
		{"section", "[" + section + "]", ""},
		{"no array", `{"type":"section"}`, "cannot unmarshal"},
		{"unknown type", `[{"type":"accordion"}]`, "unsupported type"},
		{"null", `[null]`, "not an object"},
		{"unknown field", `[{"type":"divider","color":"red"}]`, "unknown field"},
		{"unknown field of a text", `[{"type":"section","text":{"type":"mrkdwn","text":"x","bold":true}}]`, "unknown field"},
		{"50 blocks", repeat(50, `{"type":"divider"}`), ""},
		{"51 blocks", repeat(51, `{"type":"divider"}`), "51 blocks"},
		{"section of 3000", `[{"type":"section","text":{"type":"plain_text","text":"` + x(3000) + `"}}]`, ""},
		{"section of 3001", `[{"type":"section","text":{"type":"plain_text","text":"` + x(3001) + `"}}]`, "3001 characters"},
		{"characters, not bytes", `[{"type":"section","text":{"type":"plain_text","text":"` + strings.Repeat("ü", 3000) + `"}}]`, ""},
		{"empty section", `[{"type":"section"}]`, "neither text nor fields"},
		{"empty text", `[{"type":"section","text":{"type":"mrkdwn","text":""}}]`, "0 characters"},
		{"11 fields", `[{"type":"section","fields":` + repeat(11, `{"type":"mrkdwn","text":"f"}`) + `}]`, "11 fields"},
		{"header of 151", `[{"type":"header","text":{"type":"plain_text","text":"` + x(151) + `"}}]`, "151 characters"},
		{"header in mrkdwn", `[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]`, "text of type"},
		{"block_id of 256", `[{"type":"divider","block_id":"` + x(256) + `"}]`, "256 characters"},
		{"block_id twice", repeat(2, `{"type":"divider","block_id":"a"}`), "occurs twice"},
		{"context of 11", `[{"type":"context","elements":` + repeat(11, `{"type":"mrkdwn","text":"c"}`) + `}]`, "11 elements"},
		{"actions", `[{"type":"actions","elements":[` + button + `]}]`, ""},
		{"action_id twice", `[{"type":"actions","elements":[` + button + `,` + button + `]}]`, "occurs twice in its block"},
		{"same action_id in two blocks", `[{"type":"actions","elements":[` + button + `]},{"type":"actions","elements":[` + button + `]}]`, ""},
		{"button label of 76", `[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"` + x(76) + `"}}]}]`, "76 characters"},
		{"image without alt_text", `[{"type":"image","image_url":"https://example.org/a.png"}]`, "alt_text"},
		{"markdown of 12000 in all", `[{"type":"markdown","text":"` + x(6000) + `"},{"type":"markdown","text":"` + x(6000) + `"}]`, ""},
		{"markdown of 12001 in all", `[{"type":"markdown","text":"` + x(6000) + `"},{"type":"markdown","text":"` + x(6001) + `"}]`, "12001 characters"},
		{"container", box(`,"is_collapsible":true,"default_collapsed":true`, section), ""},
		{"container of 10", box("", many(10, section)...), ""},
		{"container of 11", box("", many(11, section)...), "11 child_blocks"},
		{"empty container", box(""), "0 child_blocks"},
		{"container without title", `[{"type":"container","child_blocks":[` + section + `]}]`, "no title"},
		{"rich text in a container", box("", `{"type":"rich_text","elements":[]}`), "takes no rich_text"},
		{"container in a container", box("", strings.Trim(box("", section), "[]")), "takes no container"},
		{"divided header that collapses", box(`,"is_collapsible":true,"has_header_divider":true`, section), "has_header_divider"},
		{"collapsed for good", box(`,"default_collapsed":true`, section), "without is_collapsible"},
		{"plan", `[{"type":"plan","title":"p","tasks":[` + fmt.Sprintf(task, "1", "complete") + `]}]`, ""},
		{"completed", `[{"type":"plan","title":"p","tasks":[` + fmt.Sprintf(task, "1", "completed") + `]}]`, "status completed"},
		{"plan beside task", `[{"type":"plan","title":"p"},` + fmt.Sprintf(task, "1", "error") + `]`, "together"},
		{"same task twice", `[{"type":"plan","title":"p","tasks":[` + fmt.Sprintf(task, "1", "") + `,` + fmt.Sprintf(task, "1", "") + `]}]`, "occurs twice"},
		{"details in mrkdwn", `[{"type":"task_card","task_id":"1","title":"t","details":{"type":"mrkdwn","text":"x"}}]`, "not a rich_text"},
		{"rich text", `[{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"text","text":"x"}]}]}]`, ""},
		{"empty rich text", `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":""}]}]}]`, "empty text"},
		{"nothing in a quote", `[{"type":"rich_text","elements":[{"type":"rich_text_quote","elements":[]}]}]`, "missing element"},
		{"layout with a container", `[{"type":"layout","label":"l","rows":[{"items":[{"block":{"type":"container"}}]}]}]`, "takes no container"},
		{"empty cell", `[{"type":"table","rows":[[{"type":"raw_text","text":""}]]}]`, "empty cell"},
		{"table", `[{"type":"table","rows":[[{"type":"raw_text","text":"a"}]]}]`, ""},
		{"two tables", repeat(2, `{"type":"table","rows":[[{"type":"raw_text","text":"a"}]]}`), "more than one table"},
		{"table of 21 columns", `[{"type":"table","rows":[` + repeat(21, `{"type":"raw_text","text":"a"}`) + `]}]`, "21 cells"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := checkBlocks(json.RawMessage(tt.blocks), inMessage)
			var e *apiError
			switch {
			case tt.wrong == "" && err != nil:
				t.Errorf("refused: %+v", err)
			case tt.wrong != "" && (!errors.As(err, &e) || !strings.Contains(e.detail, tt.wrong)):
				t.Errorf("got %+v, want %q", e, tt.wrong)
			}
		})
	}
}

// slack-go's own blocks are taken as it writes them.
func TestBlocksOfSlackGo(t *testing.T) {
	s := Start(t, Options{})
	label := slack.NewTextBlockObject(slack.PlainTextType, "Steps", false, false)
	body := slack.NewTextBlockObject(slack.MarkdownType, "*Thought* …", false, false)
	blocks := []slack.Block{
		slack.NewContainerBlock(slack.NewSectionBlock(body, nil, nil)).WithTitle(label).WithCollapsible(true, true).WithBlockID("steps"),
		slack.NewMarkdownBlock("", "# Answer"),
		slack.NewPlanBlock("Plan").WithTasks(slack.NewTaskCardBlock("1", "one").WithStatus(slack.TaskCardStatusComplete)),
		slack.NewActionBlock("", slack.NewButtonBlockElement("stop", "1", label)),
	}
	if _, _, err := api(s).PostMessage("C0GENERAL", slack.MsgOptionBlocks(blocks...)); err != nil {
		t.Error(err)
	}
}

// A refusal says in Slack's way what is wrong, and is a violation.
func TestInvalidBlocks(t *testing.T) {
	s := Start(t, Options{Lenient: true})
	_, _, err := api(s).PostMessage("C0GENERAL", slack.MsgOptionBlocks(slack.NewMarkdownBlock("", strings.Repeat("x", 12001))))
	var se slack.SlackErrorResponse
	if !errors.As(err, &se) || se.Err != "invalid_blocks" || len(se.ResponseMetadata.Messages) != 1 {
		t.Errorf("got %#v", err)
	}
	if v := s.Violations(); len(v) != 1 || !strings.HasPrefix(v[0], "chat.postMessage: invalid_blocks") {
		t.Errorf("got %q", v)
	}
	if len(s.Messages("C0GENERAL", "")) != 0 {
		t.Error("it was posted")
	}
}

// Blocks of any shape are judged without a panic.
func FuzzBlocks(f *testing.F) {
	f.Add(`[` + section + `]`)
	f.Add(box("", section))
	f.Add(`[{"type":"table","rows":[null,[null]]},{"type":"plan","tasks":[null]},{"type":"rich_text","elements":[null]}]`)
	f.Add(`[{"type":"actions","elements":[null,{"type":"button","confirm":{}}]},{"type":"input"},{"type":"video"},{"type":"file"}]`)
	f.Fuzz(func(t *testing.T, blocks string) {
		for _, where := range []surface{inMessage, inModal, inHome} {
			_ = checkBlocks(json.RawMessage(blocks), where) // must return
		}
		findElement(json.RawMessage(blocks), "x")
	})
}

// Readers of a markdown block see its tables, and code with the word behind its fence.
func TestDrawn(t *testing.T) {
	md := "Text | and\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\n\n```go\nx := 1\n```\n```\ny\n```"
	raw, err := json.Marshal([]map[string]string{{"type": "markdown", "text": md}, {"type": "divider"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Drawn(raw), "; "); got != "table 3x2; go\nx := 1; y" {
		t.Errorf("drawn: %q", got)
	}
}
