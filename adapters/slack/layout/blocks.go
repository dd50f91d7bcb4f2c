package layout

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
	MostSection  = 3000
	mostTitle    = 150
	mostBlocks   = 50
	MostFallback = 3900 // of the text beside blocks
	MostEdit     = 3900 // bytes of any text in an edit: 4000, and no more of other scripts
	mostChildren = 10   // of a container
	MostModal    = 100  // blocks of a modal
)

// Form is one way to write a message: blocks, and the text for notifications
// and for readers who see no blocks.
type Form struct {
	Blocks []slackgo.Block
	Text   string
	Edit   string                              // in an edit, where blocks say it all; "" is text
	Plain  bool                                // the text is no markup, where it stands alone
	Shape  string                              // what a workspace may not know; see shapes
	under  func(answer string) []slackgo.Block // see part.on
}

// Part is one message of a post, in its forms from rich to plain. Slack may
// refuse a form; then the next is tried.
type Part []Form

// On gives the part with what stands under it: buttons that are about an answer,
// whose first message is the one with this timestamp; "" is the part itself.
func (p Part) On(answer string) Part {
	p = slices.Clone(p)
	for i, f := range p {
		if f.under != nil {
			p[i].Blocks = slices.Concat(f.Blocks, f.under(answer))
		}
	}
	return p
}

// Escape makes text safe in Slack's own markup, where <…> mentions and links.
func Escape(s string) string { return escapes.Replace(s) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Mentioning is what Slack may take for a mention, although it stands in
// Markdown from a model or a tool.
var Mentioning = regexp.MustCompile(`(?i)<([@#][a-z0-9]{2}|!(?:here|channel|everyone|group|subteam|date))`)

// linked begins the target of a link, and angled that of one in angle brackets.
var (
	linked = regexp.MustCompile(`(?i)(\\*)\]((?:\(|:)\s*<?)(https?://|mailto:)?`)
	angled = regexp.MustCompile(`(?i)<[a-z][a-z0-9+.-]*:`)
)

// unlink makes text of a link whose target is neither http nor mailto: it may be a
// mention, or a program. An escaped bracket ends no link.
func unlink(words string) string {
	words = linked.ReplaceAllStringFunc(words, func(at string) string {
		m := linked.FindStringSubmatch(at)
		if m[3] != "" || len(m[1])%2 == 1 {
			return at
		}
		return m[1] + `\]` + m[2]
	})
	return angled.ReplaceAllStringFunc(words, func(at string) string {
		if low := strings.ToLower(at[1:]); strings.HasPrefix(low, "http:") || strings.HasPrefix(low, "https:") || strings.HasPrefix(low, "mailto:") {
			return at
		}
		return "&lt;" + at[1:]
	})
}

// Harmless makes Markdown of others unable to mention anybody, or to have a
// picture fetched from anywhere: that becomes a link. A link to anything but http and
// mailto becomes text.
// In code an entity would be shown as it is written, so a character without width
// stands there instead.
func Harmless(md string) string {
	if !strings.Contains(md, "![") && !Mentioning.MatchString(md) && unlink(md) == md {
		return md
	}
	return markdown.Outside(md, func(words string) string {
		words = Mentioning.ReplaceAllString(unlink(words), "&lt;$1")
		return strings.ReplaceAll(words, "![", "[")
	}, func(code string) string { return Mentioning.ReplaceAllString(code, "<\u2060$1") })
}

// Shorten cuts a text to so many markdown.UTF16, escapes left whole.
func Shorten(s string, most int) string {
	if markdown.UTF16(s) <= most {
		return s
	}
	return unbroken(markdown.Head(s, most-1)) + "…"
}

// Squeeze cuts the middle out of a text of more than so many bytes, so that its
// last line, which says what came of it, stays.
func Squeeze(s string, most int) string {
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

// InlineCode writes text as inline code in Slack's markup.
func InlineCode(s string) string { return Escape(markdown.Inline(s)) }

// Person mentions somebody, or names whoever can't be mentioned.
func Person(u chat.User) string {
	if UserID.MatchString(string(u.ID)) {
		return "<@" + string(u.ID) + ">"
	}
	return Escape(chat.Exact(chat.Flat(u.Display())))
}

var (
	// UserID matches the id of a person.
	UserID  = regexp.MustCompile(`^[UW][A-Z0-9]+$`) // matches the id of a person
	groupID = regexp.MustCompile(`^S[A-Z0-9]+$`)
)

// Mrkdwn is a text in Slack's markup.
func Mrkdwn(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, s, false, true)
}

// PlainText is a text without markup.
func PlainText(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}

// Section is a block of Slack's markup.
func Section(s string) *slackgo.SectionBlock {
	return slackgo.NewSectionBlock(Mrkdwn(s), nil, nil)
}

// preformatted shows text as it is: nothing in it is markup.
func preformatted(s string) slackgo.Block {
	return slackgo.NewRichTextBlock("", &slackgo.RichTextPreformatted{
		Type:     slackgo.RTEPreformatted,
		Elements: []slackgo.RichTextSectionElement{slackgo.NewRichTextSectionTextElement(s, nil)},
	})
}

// Message gives the arguments that show a form.
func (f Form) Message(channel string) (url.Values, error) {
	args := url.Values{"channel": {channel}, "text": {f.Text}}
	if len(f.Blocks) == 0 {
		if f.Plain {
			args.Set("mrkdwn", "false")
		}
		return args, nil
	}
	raw, err := json.Marshal(f.Blocks)
	if err != nil {
		return nil, fmt.Errorf("write blocks: %w", err)
	}
	args.Set("blocks", string(raw))
	return args, nil
}

// Mark is the metadata by which a post is found again.
const Mark = "nod_post"

// Metadata is what a post of the bot bears, by which it is known again.
type Metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		Key     string `json:"key"`
		Part    int    `json:"part"`
		Version uint64 `json:"version,omitempty"`
		Sign    string `json:"sign,omitempty"` // of the store that the post is of
	} `json:"event_payload"`
}

// Marked writes the metadata of a part of a post.
func Marked(p chat.Post, n int, sign string) string {
	m := Metadata{Type: Mark}
	m.Payload.Key, m.Payload.Part, m.Payload.Sign = p.Key, n, sign
	if p.Steps != nil {
		m.Payload.Version = p.Steps.Version
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(raw)
}
