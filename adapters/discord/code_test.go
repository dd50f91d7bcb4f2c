package discord

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/markdown"
)

// Code in Discord's clients, by their published rules: a fence wherever three backticks
// stand, then code within lines. Escaped text is neither.
var (
	clientFence  = regexp.MustCompile("(?s)^```(?:([A-Za-z0-9_+\\-.#]+?)\n)?\n*([^\n].*?)\n*```")
	clientEscape = regexp.MustCompile(`^\\[^0-9A-Za-z\s]`)
)

// clientCode is code within a line: it ends with the next run of as many
// backticks.
func clientCode(s string) int {
	run := len(s) - len(strings.TrimLeft(s, "`"))
	for at := run + 1; at < len(s); at++ {
		rest := s[at:]
		n := len(rest) - len(strings.TrimLeft(rest, "`"))
		if s[at-1] != '`' && n == run {
			return at + n
		}
	}
	return 0
}

// drawn reads a message as a client does: the blocks of code, and the rest.
func drawn(content string) (blocks []string, text string) {
	for content != "" {
		m := clientFence.FindStringSubmatch(content)
		took := 1
		switch esc := clientEscape.FindString(content); {
		case m != nil:
			blocks = append(blocks, m[2])
			took = len(m[0])
		case esc != "":
			text += esc[1:]
			took = len(esc)
		case content[0] == '`' && clientCode(content) > 0:
			took = clientCode(content)
			text += content[:took]
		default:
			text += content[:1]
		}
		content = content[took:]
	}
	return blocks, text
}

// squeezed is a text without what fences and cuts may change.
func squeezed(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\u200b", "")), "")
}

var hostileLines = []string{
	strings.Repeat("-+", 70), strings.Repeat("-", 90), strings.Repeat("> ", 90), strings.Repeat("|", 300), "```", "````", "~~~", "`", "``",
	"**Action** `deploy`", "**Observation** (approved by Bob)", "[a](https://b.example)", "<b>", "text", "\\`", "   ```sh", "> ```", "-# small", "plain\u200b", "- a", "&lt;",
}

func drawLines(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostileLines), 1, 15).Draw(t, label), "\n")
}

// Only the bot writes text outside of code on the page of steps: no tool or model can
// forge a line of it.
func TestStepsCannotBeForged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := chat.Steps{Turn: "1", Status: "Done", Done: true}
		wantBlocks, actions := "", 0
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			step := chat.Step{Thought: drawLines(t, "thought")}
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				c := chat.ToolCall{Tool: "t", Args: `{"a":1}`, State: chat.CallDone, Observation: drawLines(t, "seen")}
				if rapid.Bool().Draw(t, "long") {
					c.Observation += strings.Repeat("x", 5000) + "\n" + drawLines(t, "more")
				}
				actions++
				wantBlocks += dialect.Exact(c.Args) + chat.Visible(c.Observation)
				step.Calls = append(step.Calls, c)
			}
			s.Items = append(s.Items, step)
		}
		var got, text string
		for _, page := range layout.StepsPages(s) {
			if markdown.UTF16(page) > layout.MostContent-100 {
				t.Fatalf("a page of %d", markdown.UTF16(page))
			}
			blocks, rest := drawn(page)
			got += strings.Join(blocks, "")
			text += rest + "\n"
		}
		if diff := cmp.Diff(squeezed(wantBlocks), squeezed(got)); diff != "" {
			t.Fatalf("code (-want +got):\n%s", diff)
		}
		for _, mark := range []string{"**Action**", "**Observation**"} {
			n := 0
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, mark) {
					n++
				}
			}
			if n != actions {
				t.Fatalf("%d lines begin with %s, want %d:\n%s", n, mark, actions, text)
			}
		}
	})
}

// shallow leaves out what only nesting could be so deep: the parser gives a text
// with it up, and then only fences at the left edge are known.
var shallow = strings.NewReplacer(strings.Repeat("> ", 90), "deep", strings.Repeat("|", 300), "wide")

// A model's code is drawn as code, and nothing else is.
func TestAnswerCodeStaysCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var src, want strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "blocks") {
			code := "x\n" + shallow.Replace(drawLines(t, "code"))
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				src.WriteString(rapid.SampledFrom([]string{"a ` lone", "a ``` lone", "`x` and ` y", "plain", strings.Repeat("> ", 15) + "deep", "---", "a ``x ` y`` b"}).Draw(t, "prose") + "\n\n")
				continue
			case 1:
				fmt.Fprintf(&src, "- item\n\n  ~~~~~~~\n  %s\n  ~~~~~~~\n\n", strings.ReplaceAll(code, "\n", "\n  "))
			case 2:
				fmt.Fprintf(&src, "text:\n\n    %s\n\nend\n\n", strings.ReplaceAll(code, "\n", "\n    "))
			default:
				fmt.Fprintf(&src, "``````go\n%s\n``````\n\n", code)
			}
			want.WriteString(code)
		}
		var got string
		for _, p := range layout.AnswerParts(&chat.Text{Markdown: src.String()}) {
			blocks, _ := drawn(p.Content + strings.Join(p.Card, ""))
			got += strings.Join(blocks, "")
			if p.File != nil {
				return
			}
		}
		if diff := cmp.Diff(squeezed(want.String()), squeezed(got)); diff != "" {
			t.Fatalf("code of\n%s\n(-want +got):\n%s", src.String(), diff)
		}
	})
}

func TestDialect(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\n---\n\nb":                         "a\n\n" + dialect.DrawnRule + "\n\nb",
		"* * *":                                 dialect.DrawnRule,
		"Title\n=====\nx":                       "# Title\nx",
		"Title\n---\nx":                         "## Title\nx",
		"## Title ##":                           "## Title",
		"##### deep #":                          "**deep**",
		"![a plot](https://a.b/c_d_.png \"t\")": "[a plot](https://a.b/c_d_.png)",
		"![](https://a.b/c.png)":                "https://a.b/c.png",
		"__bold__ and __init__, a__b__c, `__x__`":                                  "**bold** and **init**, a__b__c, `__x__`",
		"https://a.b/__x__ [t](https://a/__x__)":                                   "https://a.b/__x__ [t](https://a/__x__)",
		"see [the docs][1] or [it]\n\n[1]: https://a.b/c 'T'\n[it]: <https://d.e>": "see [the docs](https://a.b/c) or [it](https://d.e)\n",
		"a [b][2] [ ]":                   "a [b][2] [ ]",
		"- [ ] todo\n- [x] done\n+ plus": "- ☐ todo\n- ☑ done\n- plus",
		"a\\\nb":                         "a\nb",
		"a<br>b <b>c</b> <T> <@1> <x>":   "a\nb **c** <T> <@1> <x>",
		"<details><summary>More</summary>\n\ntext\n\n</details>": "**More**\n\ntext\n\n",
		"<!-- hidden -->shown":                    "shown",
		"a &amp; b &lt;c&gt; &copy; &nope; &#42;": "a & b \\<c\\> © &nope; \\*",
		"say `a` and ` alone":                     "say `a` and \\` alone",
		"\uE0000\uE001 x \uE001":                  "0 x ",
		"> ```\n> a\n> ```":                       "> ```\n> a\n> ```",
		"1. x\n\n   ~~~sh\n   ls\n   ~~~":         "1. x\n\n   ```sh\n   ls\n   ```",
		"``` ```":                                 "\\`\\`\\` \\`\\`\\`",
		"```\n```\nafter":                         "```\n \n```\nafter",
		"| Service name | Owner of it | State |\n|--|--|--|\n| api-gateway-production | team-platform | **bad** <br> for some days |\n| b | | ok |": "- **api-gateway-production** — Owner of it: team-platform · State: **bad** for some days\n- **b** — State: ok",
	} {
		if got := dialect.Write(in); got != want {
			t.Errorf("%q\n  is %q\nwant %q", in, got, want)
		}
	}
}
