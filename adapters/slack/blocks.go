package slack

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
)

// Slack's limits (https://docs.slack.dev/reference/block-kit/blocks). What
// counts as a character it doesn't say; UTF-16 units are never fewer.
const (
	mostSection  = 3000
	mostTitle    = 150
	mostBlocks   = 50
	mostMarkdown = 12_000 // of all markdown blocks of a message together
	mostFallback = 3900   // of the text beside blocks
	mostEdit     = 3900   // bytes of any text in an edit: 4000, and no more of other scripts
	mostChildren = 10     // of a container
	mostModal    = 100    // blocks of a modal
)

// form is one way to write a message: blocks, and the text for notifications
// and for readers who see no blocks.
type form struct {
	blocks []slackgo.Block
	text   string
	edit   string                              // in an edit, where blocks say it all; "" is text
	plain  bool                                // the text is no markup, where it stands alone
	shape  string                              // what a workspace may not know; see shapes
	under  func(answer string) []slackgo.Block // see part.on
	rest   func() part                         // of the last form of a part: see part.all
}

// part is one message of a post, in its forms from rich to plain. Slack may
// refuse a form; then the next is tried.
type part []form

// on gives the part with what stands under it: buttons that are about an answer,
// whose first message is the one with this timestamp; "" is the part itself.
func (p part) on(answer string) part {
	p = slices.Clone(p)
	for i, f := range p {
		if f.under != nil {
			p[i].blocks = slices.Concat(f.blocks, f.under(answer))
		}
		if f.rest != nil {
			p[i].rest = func() part { return f.rest().on(answer) }
		}
	}
	return p
}

// all gives the part with all of its forms. The plainer ones of what is long are drawn
// only when they are asked for, since Slack hardly ever refuses the first, and to draw
// them is to read the text anew for each.
func (p part) all() part {
	last := len(p) - 1
	if last < 0 || p[last].rest == nil {
		return p
	}
	out := slices.Clone(p)
	out[last].rest = nil
	return append(out, p[last].rest()...).all()
}

// plainer are the forms behind the first.
func (p part) plainer() part { return p.all()[1:] }

// escape makes text safe in Slack's own markup, where <…> mentions and links.
func escape(s string) string { return escapes.Replace(s) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// mentioning is what Slack may take for a mention, although it stands in
// Markdown from a model or a tool.
var mentioning = regexp.MustCompile(`(?i)<([@#][a-z0-9]{2}|!(?:here|channel|everyone|group|subteam|date))`)

// harmless makes Markdown of others unable to mention anybody, or to have a
// picture fetched from anywhere: that becomes a link. In code an entity would be
// shown as it is written, so a character without width stands there instead.
func harmless(md string) string {
	if !strings.Contains(md, "![") && !mentioning.MatchString(md) {
		return md
	}
	return markdown.Outside(md, func(words string) string {
		return strings.ReplaceAll(mentioning.ReplaceAllString(words, "&lt;$1"), "![", "[")
	}, func(code string) string { return mentioning.ReplaceAllString(code, "<\u2060$1") })
}

// shorten cuts a text to so many markdown.UTF16, escapes left whole.
func shorten(s string, most int) string {
	if markdown.UTF16(s) <= most {
		return s
	}
	return unbroken(markdown.Head(s, most-1)) + "…"
}

// squeeze cuts the middle out of a text of more than so many bytes, so that its
// last line, which says what came of it, stays.
func squeeze(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := ""
	if i := strings.LastIndexByte(s, '\n'); i >= 0 && len(s)-i <= most/4 {
		end = s[i:]
	}
	most -= len(end) + len("…")
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return unbroken(s[:most]) + "…" + end
}

// unbroken drops an entity that a cut has left incomplete.
func unbroken(s string) string {
	if i := strings.LastIndexByte(s, '&'); i >= 0 && len(s)-i < 5 && !strings.Contains(s[i:], ";") {
		return s[:i]
	}
	return s
}

// inlineCode writes text as inline code in Slack's markup.
func inlineCode(s string) string { return escape(markdown.Inline(s)) }

// person mentions somebody, or names whoever can't be mentioned.
func person(u chat.User) string {
	if userID.MatchString(string(u.ID)) {
		return "<@" + string(u.ID) + ">"
	}
	return escape(chat.Exact(chat.Flat(u.Display())))
}

var (
	userID  = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	groupID = regexp.MustCompile(`^S[A-Z0-9]+$`)
)

func mrkdwn(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, s, false, true)
}

func plainText(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}

func section(s string) *slackgo.SectionBlock {
	return slackgo.NewSectionBlock(mrkdwn(s), nil, nil)
}

// preformatted shows text as it is: nothing in it is markup.
func preformatted(s string) slackgo.Block {
	return slackgo.NewRichTextBlock("", &slackgo.RichTextPreformatted{
		Type:     slackgo.RTEPreformatted,
		Elements: []slackgo.RichTextSectionElement{slackgo.NewRichTextSectionTextElement(s, nil)},
	})
}

// message gives the arguments that show a form.
func (f form) message(channel string) (url.Values, error) {
	args := url.Values{"channel": {channel}, "text": {f.text}}
	if len(f.blocks) == 0 {
		if f.plain {
			args.Set("mrkdwn", "false")
		}
		return args, nil
	}
	raw, err := json.Marshal(f.blocks)
	if err != nil {
		return nil, fmt.Errorf("write blocks: %w", err)
	}
	args.Set("blocks", string(raw))
	return args, nil
}

// mark is the metadata by which a post is found again.
const mark = "nod_post"

type metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		Key     string `json:"key"`
		Part    int    `json:"part"`
		Version uint64 `json:"version,omitempty"`
	} `json:"event_payload"`
}

func marked(key string, n int, version uint64) string {
	m := metadata{Type: mark}
	m.Payload.Key, m.Payload.Part, m.Payload.Version = key, n, version
	raw, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(raw)
}
