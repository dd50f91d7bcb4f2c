// Package layout lays out posts as Discord messages: answers, steps, cards and pictures.
// It sends nothing.
package layout

import (
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat/markdown"
)

// MostContent is the longest text of a message.
const MostContent = 2000

// Part is one message of a post, and the sign by which it is known later: the
// id of a button, a line of its text, a mark, or all of its text.
type Part struct {
	Content string
	Buttons []discordgo.MessageComponent
	File    *api.Upload
	Button  string   // begins the id of a button in it
	Line    string   // is a line of it
	Mark    string   // stands in it, or in the name of its file
	Card    []string // texts of a card, in place of content
	accent  int      // the colour of the card
	Wide    bool     // the card is a long text, without a box around it

	Plain  *Part // what stands for the card where Discord takes none
	Pings  Pings // when it is made; a change pings nobody
	Silent bool  // it rings nowhere
}

// Pings says whom a message pings: nobody but who is named here, whatever the text
// says, since a model wrote it
// (https://discord.com/developers/docs/resources/message#allowed-mentions-object).
type Pings struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Replied bool     `json:"replied_user"`
}

// Nobody pings nobody.
func Nobody() Pings { return Pings{Parse: []string{}} }

// body is a message as it is sent
// (https://discord.com/developers/docs/resources/message#create-message).
type body struct {
	Content     *string                     `json:"content"`
	Components  []any                       `json:"components"`
	Allowed     Pings                       `json:"allowed_mentions"`
	Flags       discordgo.MessageFlags      `json:"flags,omitempty"`
	Nonce       string                      `json:"nonce,omitempty"`
	Enforce     bool                        `json:"enforce_nonce,omitempty"`
	Reference   *discordgo.MessageReference `json:"message_reference,omitempty"`
	Attachments []map[string]any            `json:"attachments,omitempty"`
}

// Answering refers to the message that another one answers, if that is there.
func Answering(id string) *discordgo.MessageReference {
	return &discordgo.MessageReference{MessageID: id, FailIfNotExists: new(bool)}
}

// Change is the body that makes a message show a part. Files stay as they are.
func (p Part) Change() body {
	b := body{Components: []any{}, Allowed: Nobody()}
	switch {
	case p.Wide:
		b.Flags, b.Components = discordgo.MessageFlagsIsComponentsV2, append(b.Components, display(p.Card[0]))
		return b.with(p.Buttons)
	case len(p.Card) > 0:
		b.Flags, b.Components = discordgo.MessageFlagsIsComponentsV2, append(b.Components, p.container())
		return b
	}
	b.Content = &p.Content
	return b.with(p.Buttons)
}

// with is a message with buttons below it.
func (b body) with(buttons []discordgo.MessageComponent) body {
	if len(buttons) > 0 {
		b.Components = append(b.Components, discordgo.ActionsRow{Components: buttons})
	}
	return b
}

// container is a card with its texts and buttons
// (https://discord.com/developers/docs/components/reference#container).
func (p Part) container() map[string]any {
	const box = 17
	var inner []any
	for _, t := range p.Card {
		inner = append(inner, display(t))
	}
	if len(p.Buttons) > 0 {
		inner = append(inner, discordgo.ActionsRow{Components: p.Buttons})
	}
	return map[string]any{"type": box, "accent_color": p.accent, "components": inner}
}

// display is a text on a card
// (https://discord.com/developers/docs/components/reference#text-display).
func display(text string) map[string]any { return map[string]any{"type": 10, "content": text} }

// WithoutCard is the part without a card, with the same buttons and pings.
func (p Part) WithoutCard() Part {
	out := *p.Plain
	out.Buttons, out.Pings, out.Silent = p.Buttons, p.Pings, p.Silent
	return out
}

// Face is what people see of a steps message.
func (p Part) Face() string { return fmt.Sprint(p.Content, len(p.Buttons)) }

// Add puts a small line below a part, if there is room.
func (p *Part) Add(line string) bool {
	line = "\n-# " + line
	text, most := &p.Content, MostContent
	switch {
	case p.Wide:
		text, most = &p.Card[0], MostWide
	case len(p.Card) > 0:
		text, most = &p.Card[len(p.Card)-1], MostContent
	}
	if p.Plain != nil {
		p.Plain.Add(line[len("\n-# "):])
	}
	if markdown.UTF16(*text+line) > most {
		return false
	}
	*text += line
	return true
}
