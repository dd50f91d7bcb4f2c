package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/outbox"
)

// command is an application command
// (https://discord.com/developers/docs/interactions/application-commands).
type command struct {
	Name        string   `json:"name"`
	Type        int      `json:"type"`
	Description string   `json:"description"`
	Options     []option `json:"options,omitempty"`
}

type option struct {
	Type        int    `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required,omitempty"`
	MaxLength   int    `json:"max_length,omitempty"`
}

const (
	chatCommand  = 1
	stringOption = 3
	mostAsked    = 1900 // characters of a question, which is shown in a message
)

// commands are what people can give besides writing to the bot.
var commands = []command{
	{Name: "ask", Type: chatCommand, Description: "Ask nod something", Options: []option{
		{Type: stringOption, Name: "question", Description: "What you want to know, or to have done", Required: true, MaxLength: mostAsked},
	}},
	{Name: "stop", Type: chatCommand, Description: "Stop what nod is doing in this conversation"},
	{Name: "forget", Type: chatCommand, Description: "Erase nod's memory of this conversation"},
	{Name: "help", Type: chatCommand, Description: "What nod can do here"},
}

// register makes the commands known, unless they are already: changing them
// counts against a limit of the day.
func (a *Adapter) register(ctx context.Context) {
	err := a.again(ctx, func() error { return a.registerOnce(ctx) })
	if err != nil && ctx.Err() == nil {
		a.log.Error("register the commands", "error", err)
	}
}

func (a *Adapter) registerOnce(ctx context.Context) error {
	app := []string{a.self.application().ID}
	var there []command
	err := a.rest.call(ctx, request{method: "GET", path: "/applications/{}/commands", ids: app, priority: outbox.Low, answer: &there})
	if err != nil {
		return err
	}
	same := slices.EqualFunc(sorted(there), sorted(commands), func(x, y command) bool {
		return x.Name == y.Name && x.Description == y.Description && max(x.Type, chatCommand) == y.Type && slices.Equal(x.Options, y.Options)
	})
	if same {
		return nil
	}
	return a.rest.call(ctx, request{method: "PUT", path: "/applications/{}/commands", ids: app, body: commands, priority: outbox.Low})
}

func sorted(list []command) []command {
	return slices.SortedFunc(slices.Values(list), func(x, y command) int { return strings.Compare(x.Name, y.Name) })
}

// command does what a command says. What has to be kept is put first.
func (a *Adapter) command(ctx context.Context, in interaction) error {
	if in.Data.Name == "ask" {
		return a.ask(ctx, in)
	}
	p, ok, err := a.spoken(ctx, in)
	if err != nil {
		return err
	}
	by := userOf(*in.User, in.Member)
	switch {
	case !ok && in.Data.Name == "help":
		return a.respond(ctx, in, answerMessage, newPage("Mention me, write to me directly, or use `/ask`. In a conversation with me, `/help` tells which tools I have there, `/stop` stops me and `/forget` erases what I remember."))
	case !ok:
		return a.respond(ctx, in, answerMessage, newPage("Use this in a conversation with me: a thread that I am in, or our direct messages."))
	case in.Data.Name == "stop":
		return a.halt(ctx, in, p, by)
	case in.Data.Name == "forget", in.Data.Name == "help":
		m := chat.Message{Ref: refOf(p, in.ID), From: by, Text: in.Data.Name, Sent: sentAt(in.ID)}
		if _, err := a.o.Inbox.Message(ctx, threadID(p), m, interactionKey(in.ID)); err != nil {
			return a.sorry(ctx, in, err)
		}
		return a.respond(ctx, in, answerMessage, newPage("The answer comes in this conversation."))
	}
	return fmt.Errorf("%w: command", errMalformed)
}

// halt stops the running turn.
func (a *Adapter) halt(ctx context.Context, in interaction, p place, by chat.User) error {
	st, err := a.o.Inbox.Standing(ctx, threadID(p))
	if err != nil {
		return a.sorry(ctx, in, err)
	}
	if !st.Running {
		return a.respond(ctx, in, answerMessage, newPage("Nothing is running here."))
	}
	if _, err := a.o.Inbox.Halt(ctx, threadID(p), by, interactionKey(in.ID)); err != nil {
		return a.sorry(ctx, in, err)
	}
	return a.respond(ctx, in, answerMessage, newPage("Stopping."))
}

// sorry says that a command had no effect.
func (a *Adapter) sorry(ctx context.Context, in interaction, why error) error {
	a.log.Warn("put a command", "error", why)
	return a.respond(ctx, in, answerMessage, newPage("That did not work: my memory does not answer. Try again in a moment."))
}

// ask shows the question as a message. That message is then heard as any other
// is, also if this process ends right here: what it says is the person's, as
// Discord tells.
func (a *Adapter) ask(ctx context.Context, in interaction) error {
	question := ""
	for _, o := range in.Data.Options {
		if o.Name == "question" && json.Unmarshal(o.Value, &question) != nil {
			return fmt.Errorf("%w: question", errMalformed)
		}
	}
	question = shorten(strings.TrimSpace(question), mostContent)
	if question == "" {
		return a.respond(ctx, in, answerMessage, newPage("Ask me something: `/ask question:`…"))
	}
	if may, err := strconv.ParseInt(in.May, 10, 64); err == nil && in.GuildID != "" && may&discordgo.PermissionViewChannel == 0 {
		return a.respond(ctx, in, answerMessage, newPage("I can't see this channel, so I can't answer here."))
	}
	p := newPage(question)
	p.Flags = suppressEmbeds
	return a.respond(ctx, in, answerMessage, p)
}

// spoken is the conversation in which a command was given; ok is false where
// there is none.
func (a *Adapter) spoken(ctx context.Context, in interaction) (p place, ok bool, err error) {
	if in.GuildID == "" {
		return place{channel: in.ChannelID}, true, nil
	}
	c, err := a.channel(ctx, in.ChannelID)
	if err != nil || !c.thread() {
		return place{}, false, err
	}
	return place{c.ParentID, c.ID}, true, nil
}
