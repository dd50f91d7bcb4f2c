package discord

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
)

// An answered, forwarded or asked-about message is quoted: it is not the author's own
// words, and neither a mention nor a command in it counts. The same holds for the embed
// below a bot's words, where most alerts stand.

// quoted are the messages that a message answers or forwards, and what stands in it
// beside its text.
func (a *Adapter) quoted(m api.Message) []chat.Quote {
	var out []chat.Quote
	if r := m.Referenced; m.Type == discordgo.MessageTypeReply && r != nil && r.Author != nil {
		before := len(out)
		if out = a.quote(out, a.from(*r), *r); len(out) == before && m.GuildID != "" && !a.reads() && r.Author.ID != a.self.who().ID {
			out = append(out, chat.Quote{From: a.from(*r), Text: hiddenText, Own: true})
		}
	}
	if t := m.Aside; t != nil {
		out = a.quote(out, a.from(*t), *t)
	}
	if a.asked(m) == nil {
		out = a.cite(out, a.from(m), m, framedIn(m))
	}
	return a.forwarded(out, m)
}

// quote quotes what a message says, and what it forwards.
func (a *Adapter) quote(out []chat.Quote, from chat.User, m api.Message) []chat.Quote {
	parts := []string{m.Said()}
	if string(from.ID) != a.self.who().ID { // what the bot's own cards say is no word of anybody's
		parts = append(parts, framedIn(m))
	}
	return a.forwarded(a.cite(out, from, m, strings.Join(parts, "\n")), m)
}

func (a *Adapter) forwarded(out []chat.Quote, m api.Message) []chat.Quote {
	for _, s := range m.Snapshots {
		if s.Message != nil {
			if r := m.Reference; r != nil {
				s.Message.ID = r.MessageID
			}
			out = a.quote(out, chat.User{Name: "somebody (forwarded)"}, *s.Message)
		}
	}
	return out
}

// cite quotes a text of a message, if there is any.
func (a *Adapter) cite(out []chat.Quote, from chat.User, m api.Message, text string) []chat.Quote {
	w := a.words(m)
	w.Self, w.Stands = "", nil
	if text = w.Readable(text); text != "" {
		out = append(out, chat.Quote{From: from, Text: text, Ref: chat.MessageRef{Platform: Platform, ID: m.ID}})
	}
	return out
}

// framedIn is the text of a message's embeds and of its cards. Of a person's message, and
// of one that has its link, an embed is the preview of that; no
// preview is rich. Whoever wrote a message that is forwarded Discord doesn't tell.
func framedIn(m api.Message) string {
	if by := m.Author; by != nil && !by.Bot && m.WebhookID == "" {
		return ""
	}
	var embeds []json.RawMessage
	_ = json.Unmarshal(m.Embeds, &embeds) // none, if they are no list
	var parts []string
	for _, raw := range embeds {
		var e discordgo.MessageEmbed
		preview := json.Unmarshal(raw, &e) != nil || e.Type != discordgo.EmbedTypeRich || e.URL != "" && strings.Contains(m.Content, e.URL)
		if !preview {
			parts = append(parts, saidIn(e)...)
		}
	}
	for _, c := range m.Shown() {
		switch {
		case c.Type == textDisplay:
			parts = append(parts, c.Content)
		case c.Type == button && c.URL != "":
			parts = append(parts, c.Label+" ("+c.URL+")")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" }), "\n")
}

func saidIn(e discordgo.MessageEmbed) (lines []string) {
	if e.Author != nil {
		lines = append(lines, e.Author.Name)
	}
	lines = append(lines, e.Title, e.URL, e.Description)
	for _, f := range e.Fields {
		lines = append(lines, f.Name+": "+f.Value)
	}
	if e.Footer != nil {
		lines = append(lines, e.Footer.Text)
	}
	return lines
}

// Kinds of components that show a text or lead to a page.
const (
	button      = 2
	textDisplay = 10
)

// words are the names that a message brings along, and those of the guild.
func (a *Adapter) words(m api.Message) dialect.Words {
	me := a.self.who()
	return dialect.Words{
		Self:   me.ID,
		Stands: a.atlas.Stands,
		User: func(id string) string {
			for _, u := range m.Mentions {
				if u.ID == id {
					return api.UserOf(u.User, u.Member).Name
				}
			}
			if id == me.ID {
				return me.Username
			}
			return ""
		},
		Role:    func(id string) string { return a.atlas.RoleName(m.GuildID, id) },
		Channel: a.atlas.ChannelName,
	}
}
