package slack

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"nod/adapters/slack/api"
	"nod/chat/inbound"
)

// Slack writes mentions and links in angle brackets, and &, < and > as HTML
// entities (https://docs.slack.dev/messaging/formatting-message-text). This
// file makes them words.

type words struct {
	self    func(id string) bool // it is the bot; nil: none is
	user    func(id string) string
	channel func(id string) string
	group   func(id string) string
	team    string // of the workspace
}

var (
	token    = regexp.MustCompile(`<([^<>\n]+)>`)
	mention  = regexp.MustCompile(`<@([UWB][A-Z0-9]+)(?:\|[^<>]*)?>`) // a phone may name a bot by its B
	subteam  = regexp.MustCompile(`<!subteam\^([A-Z0-9]+)(?:\|[^<>]*)?>`)
	entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
)

// mentions says whether a text mentions the bot, and whether it mentions other
// people or groups.
func mentions(text string, isMe func(id string) bool) (me, others bool) {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if isMe(m[1]) {
			me = true
		} else {
			others = true
		}
	}
	return me, others || subteam.MatchString(text)
}

func mentioned(text string) []string {
	var out []string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if m[1][0] != 'B' { // which is no account
			out = append(out, m[1])
		}
	}
	return out
}

// readable makes Slack's markup readable. The bot's own mention is dropped
// where a text begins or ends with it, which is how it is called.
func (w words) readable(text string) string {
	text = inbound.Uncalled(text, mention, func(id string) bool { return w.self != nil && w.self(id) })
	return inbound.Readable(text, token, entities.Replace, func(group func(int) string) string { return w.word(group(1)) })
}

// word reads what stands between angle brackets.
func (w words) word(inner string) string {
	target, label, labelled := strings.Cut(inner, "|")
	label = entities.Replace(label)
	if target == "" {
		return label
	}
	switch target[:1] {
	case "@":
		return "@" + inbound.Named(w.user, target[1:], label)
	case "#":
		return "#" + inbound.Named(w.channel, target[1:], label)
	case "!":
		return w.special(target[1:], label)
	}
	target = entities.Replace(target)
	bare := strings.TrimPrefix(target, "mailto:")
	if !labelled || label == "" || label == target || label == bare {
		return bare
	}
	return label + " (" + target + ")"
}

// special reads <!…>: a group, everybody, or a date.
func (w words) special(target, label string) string {
	if id, ok := strings.CutPrefix(target, "subteam^"); ok {
		return "@" + inbound.Named(w.group, id, strings.TrimPrefix(label, "@"))
	}
	name, _, _ := strings.Cut(target, "^")
	switch {
	case name == "here" || name == "channel" || name == "everyone":
		return "@" + name
	case label != "":
		return label
	}
	return name
}

// textOf is all that a message says in the name of its writer, each line once: its text,
// its blocks, the tables that were pasted into it, and voice clips as Slack wrote them
// down. An app's text is often only the title of its blocks. For the words of others that
// are attached, see passedOn.
func textOf(ev api.Event) string {
	text := ev.Text
	if ev.ClientMsgID == "" || strings.TrimSpace(text) == "" {
		text = joined(text, dug(ev.Blocks))
	}
	for _, a := range attachments(ev) {
		if a.pasted() {
			text = joined(text, dug(a.Blocks))
		}
	}
	for _, f := range filesOf(ev) {
		text = joined(text, f.spoken())
	}
	return text
}

// joined adds the lines of another reading of a message that its text does not hold.
func joined(text, more string) string {
	for line := range strings.Lines(more) {
		if bare := normal(line); bare != "" && !strings.Contains(" "+normal(text)+" ", " "+bare+" ") {
			text = strings.TrimLeft(text+"\n"+strings.TrimRight(line, "\n"), "\n")
		}
	}
	return text
}

// normal is a text without markup, which is not the same in all readings of a message.
func normal(text string) string {
	text = token.ReplaceAllStringFunc(text, func(t string) string { return strings.ReplaceAll(strings.Trim(t, "<>"), "|", " ") })
	return strings.Join(strings.Fields(marks.Replace(entities.Replace(text))), " ")
}

var marks = strings.NewReplacer("*", "", "_", "", "~", "", "`", "")

func dug(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return strings.Join(hidden(nil, v, 0), "\n")
}

const mostHidden = 200

// hidden collects the strings that blocks and attachments show.
func hidden(parts []string, v any, depth int) []string {
	if depth > 12 || len(parts) >= mostHidden {
		return parts
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if row, ok := e.([]any); ok { // of a table
				parts = append(parts, inLine(row, " | ", depth+1))
				continue
			}
			parts = hidden(parts, e, depth+1)
		}
	case map[string]any:
		if line, ok := lineOf(v, depth); ok {
			return append(parts, line)
		}
		unshown(v)
		for _, key := range shownKeys {
			if link, _ := v[key+"_link"].(string); link != "" {
				parts = append(parts, "<"+link+"|"+labelOf(v[key], depth)+">")
			} else if s, ok := v[key].(string); ok && s != "" {
				parts = append(parts, s)
			} else if !ok {
				parts = hidden(parts, v[key], depth+1)
			}
		}
		if len(parts) == 0 {
			if s, ok := v["fallback"].(string); ok && s != "" && s != noPreview {
				parts = append(parts, s)
			}
		}
	}
	return parts
}

// shownKeys are the fields of blocks and attachments that people see, in their order.
var shownKeys = []string{
	"pretext", "label", "title", "text", "description", "fields", "value", "accessory", "elements", "options", "rows", "tasks",
	"details", "output", "child_blocks", "blocks", "message_blocks", "message", "actions",
}

// unshown takes off what people don't see: the value that an app gives its own button, and
// the options of a list that is not open.
func unshown(v map[string]any) {
	number, bare := v["value"].(float64)
	switch _, titled := v["title"]; {
	case bare && v["text"] == nil:
		v["value"] = strconv.FormatFloat(number, 'f', -1, 64)
	case !titled && v["type"] != "color":
		delete(v, "value")
	}
	if v["type"] != "checkboxes" && v["type"] != "radio_buttons" {
		delete(v, "options")
	}
	if link, ok := v["title_url"]; ok { // of a video
		v["title_link"] = link
	}
}

// labelOf is the text of an element, which may be an object.
func labelOf(v any, depth int) string {
	s, _ := v.(string)
	return s + inLine([]any{v}, "", depth)
}

// noPreview is Slack's fallback for an attachment whose blocks say everything.
const noPreview = "[no preview available]"

// lineOf is an element that stands in a line, or a line of such elements.
func lineOf(v map[string]any, depth int) (line string, ok bool) {
	word := func(key string) string { s, _ := v[key].(string); return s }
	switch kind := word("type"); kind {
	case "user":
		return "<@" + word("user_id") + ">", true
	case "usergroup":
		return "<!subteam^" + word("usergroup_id") + ">", true
	case "channel":
		return "<#" + word("channel_id") + ">", true
	case "broadcast":
		return "<!" + word("range") + ">", true
	case "emoji":
		return ":" + word("name") + ":", true
	case "rich_text_section", "rich_text_preformatted", "rich_text_quote":
		elements, _ := v["elements"].([]any)
		return inLine(elements, "", depth), true
	}
	if word("url") == "" {
		return "", false
	}
	if label := labelOf(v["text"], depth); label != "" {
		return "<" + word("url") + "|" + label + ">", true
	}
	return "<" + word("url") + ">", true
}

// inLine joins what elements show.
func inLine(elements []any, between string, depth int) string {
	var parts []string
	for _, e := range elements {
		parts = append(parts, strings.Join(hidden(nil, e, depth+1), " "))
	}
	return strings.Join(parts, between)
}
