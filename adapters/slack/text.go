package slack

import (
	"encoding/json"
	"regexp"
	"strings"

	"nod/adapters/slack/api"
	"nod/chat/inbound"
)

// Slack writes mentions and links in angle brackets, and &, < and > as HTML
// entities (https://docs.slack.dev/messaging/formatting-message-text). This
// file makes them words.

// words finds the names for ids.
type words struct {
	self    string // the bot's user id
	user    func(id string) string
	channel func(id string) string
	group   func(id string) string
}

var (
	token    = regexp.MustCompile(`<([^<>\n]+)>`)
	mention  = regexp.MustCompile(`<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>`)
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

// mentioned lists the people that a text mentions.
func mentioned(text string) []string {
	var out []string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// readable makes Slack's markup readable. The bot's own mention is dropped
// where a text begins or ends with it, which is how it is called.
func (w words) readable(text string) string {
	text = inbound.Uncalled(text, mention, func(id string) bool { return id == w.self })
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
		return "@" + w.named(w.user, target[1:], label)
	case "#":
		return "#" + w.named(w.channel, target[1:], label)
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
		return "@" + w.named(w.group, id, strings.TrimPrefix(label, "@"))
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

// named prefers the name that is looked up over the label, which whoever sent
// the message may have chosen.
func (w words) named(look func(string) string, id, label string) string {
	if look != nil {
		if name := look(id); name != "" {
			return name
		}
	}
	if label != "" {
		return label
	}
	return id
}

// textOf is what whoever wrote a message says: its text, or where there is none
// what its blocks say. What is attached are the words of others; see passedOn.
func textOf(ev api.Event) string {
	if strings.TrimSpace(ev.Text) != "" {
		return ev.Text
	}
	return dug(ev.Blocks)
}

// dug collects the text of blocks or of an attachment.
func dug(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return strings.Join(hidden(nil, v, 0), "\n")
}

// mostHidden bounds what is dug out of blocks.
const mostHidden = 200

// hidden collects the strings that blocks and attachments show.
func hidden(parts []string, v any, depth int) []string {
	if depth > 12 || len(parts) >= mostHidden {
		return parts
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			parts = hidden(parts, e, depth+1)
		}
	case map[string]any:
		if v["type"] == "user" {
			if id, ok := v["user_id"].(string); ok {
				return append(parts, "<@"+id+">")
			}
		}
		for _, key := range []string{"pretext", "title", "text", "fields", "value", "elements", "child_blocks", "blocks", "message_blocks", "message"} {
			if s, ok := v[key].(string); ok && s != "" {
				parts = append(parts, s)
			} else if !ok {
				parts = hidden(parts, v[key], depth+1)
			}
		}
		if len(parts) == 0 {
			if s, ok := v["fallback"].(string); ok && s != "" {
				parts = append(parts, s)
			}
		}
	}
	return parts
}
