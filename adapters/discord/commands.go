package discord

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/gateway"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/vocabulary"
	"nod/front"
)

// command is an application command
// (https://discord.com/developers/docs/interactions/application-commands).
type command struct {
	Name        string   `json:"name"`
	Type        int      `json:"type"`
	Description string   `json:"description"`
	Options     []option `json:"options,omitempty"`
	Contexts    []int    `json:"contexts"`
	Installs    []int    `json:"integration_types"`
}

type option struct {
	Type        int      `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Required    bool     `json:"required,omitempty"`
	MaxLength   int      `json:"max_length,omitempty"`
	Choices     []choice `json:"choices,omitempty"`
	Completed   bool     `json:"autocomplete,omitempty"`
}

type choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	chatCommand      = 1
	messageCommand   = 3
	stringOption     = 3
	attachmentOption = 11
	mostAsked        = 1900 // characters of a question, which is shown in a message

	serverContext  = 0 // where a command may be given: in a server,
	directContext  = 1 // and in the direct conversation with the bot
	privateContext = 2 // not in one of other people, where the bot is not
	serverInstall  = 0 // not with an app that a person installed for themselves

	askAbout = "Ask nod about this"
)

// commands are what people can give besides writing to the bot.
var commands = everywhere(slices.Concat([]command{
	{Name: "ask", Description: "Ask nod something", Options: []option{
		{Type: stringOption, Name: "question", Description: "What you want to know, or to have done", Required: true, MaxLength: mostAsked},
		{Type: attachmentOption, Name: "file", Description: "A file that goes along"},
		{Type: attachmentOption, Name: "file2", Description: "Another file"},
		{Type: attachmentOption, Name: "file3", Description: "One more file"},
	}},
	{Name: askAbout, Type: messageCommand},
}, wordCommands()))

// wordCommands are the words that people can say and that are commands too. Two words
// that begin alike, such as "tools off" and "tools on", are one command with a switch.
func wordCommands() (list []command) {
	for _, w := range vocabulary.Table {
		if w.Command == "" {
			continue
		}
		name, switched, _ := strings.Cut(w.Name, " ")
		c := command{Name: name, Description: w.Command}
		if switched != "" {
			c.Options = append(c.Options, switchOption(name))
		}
		switch w.Takes {
		case vocabulary.File:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The file's name", Required: true, MaxLength: 200, Completed: true})
		case vocabulary.Tool:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The tool's name", Required: true, MaxLength: 100, Completed: true})
		}
		list = append(list, c)
	}
	return list
}

// switchOption chooses among the words that begin with a name.
func switchOption(name string) option {
	var choices []choice
	var texts []string
	for _, w := range vocabulary.Table {
		if text, ok := strings.CutPrefix(w.Name, name+" "); ok {
			choices, texts = append(choices, choice{text, text}), append(texts, text)
		}
	}
	return option{Type: stringOption, Name: "switch", Description: strings.Join(texts, " or "), Required: true, Choices: choices}
}

// everywhere sets where commands may be given: where the bot is, and so hears what
// follows.
func everywhere(list []command) []command {
	for i := range list {
		list[i].Type = max(list[i].Type, chatCommand)
		list[i].Contexts, list[i].Installs = []int{serverContext, directContext}, []int{serverInstall}
	}
	return list
}

// register makes the commands known, unless they are already: changing them
// counts against a limit of the day.
func (a *Adapter) register(ctx context.Context) {
	err := a.Repeat(ctx, func() error { return a.registerOnce(ctx) })
	if err != nil && ctx.Err() == nil {
		a.log.Error("register the commands", "error", err)
	}
}

func (a *Adapter) registerOnce(ctx context.Context) error {
	app := []string{a.self.application().ID}
	var there []command
	err := a.rest.Call(ctx, api.Request{Method: "GET", Path: "/applications/{}/commands", IDs: app, Priority: outbox.Low, Answer: &there})
	if err != nil {
		return err
	}
	if reflect.DeepEqual(sorted(there), sorted(commands)) {
		return nil
	}
	return a.rest.Call(ctx, api.Request{Method: "PUT", Path: "/applications/{}/commands", IDs: app, Body: commands, Priority: outbox.Low})
}

func sorted(list []command) []command {
	list = slices.Clone(list)
	for i := range list {
		list[i].Type = max(list[i].Type, chatCommand)
	}
	return slices.SortedFunc(slices.Values(list), func(x, y command) int { return strings.Compare(x.Name, y.Name) })
}

// command does what a command says, where the bot is. Discord lets people give one
// also where it is not: by an app that they installed for themselves, in direct
// conversations of others. What they said there would be shown and never heard.
func (a *Adapter) command(ctx context.Context, in api.Interaction) error {
	if why := absence(in); why != "" {
		return a.respond(ctx, in, answerMessage, newPage(why))
	}
	served := true
	heard, err := a.heardFrom(ctx, speakerOf(in), func() { served = false })
	switch {
	case err != nil:
		return a.sorry(ctx, in, err)
	case !served && in.GuildID != "":
		return a.respond(ctx, in, answerMessage, newPage(unservedText(in.GuildID)))
	case !heard && served:
		return a.respond(ctx, in, answerMessage, newPage("I answer only those whom `discord.allow` names, and it does not name you here."))
	case !heard:
		return a.respond(ctx, in, answerMessage, newPage("I am not set up to answer you."))
	case in.Data.Name == "ask":
		return a.ask(ctx, in)
	case in.Data.Name == askAbout:
		return a.askAbout(ctx, in)
	}
	return a.worded(ctx, in)
}

// absence says why a command can't be followed where it was given.
func absence(in api.Interaction) string {
	if in.Context != nil && *in.Context == privateContext {
		return "I am not part of this conversation. Write to me directly, or in a server that I am in."
	}
	if _, member := in.Owners[strconv.Itoa(serverInstall)]; in.Owners != nil && !member {
		return "I am not a member of this server, so I would not hear what is said here. Somebody has to invite me first."
	}
	return ""
}

// speakerOf is who gave a command.
func speakerOf(in api.Interaction) speaker {
	s := speaker{user: in.User.ID, member: in.Member, guild: in.GuildID, channel: in.ChannelID}
	if in.Channel != nil {
		s.parent = in.Channel.ParentID
	}
	return s
}

// isPublic says whether everybody sees the answer to a command.
func isPublic(name string) bool {
	return slices.ContainsFunc(vocabulary.Table, func(w vocabulary.Word) bool { return w.Name == name && w.Public })
}

// worded does what one of the words does in a message. It is answered at once, and
// with what comes of it when that is there: to whoever gave it alone, unless it
// concerns all.
func (a *Adapter) worded(ctx context.Context, in api.Interaction) error {
	p, ok, err := a.spoken(ctx, in)
	switch {
	case err != nil:
		return a.sorry(ctx, in, err)
	case !ok && in.Data.Name == "help":
		return a.respond(ctx, in, answerMessage, newPage("Mention me, write to me directly, or use `/ask`. In a conversation with me, `/help` tells which tools I have there, `/stop` stops me and `/forget` erases what I remember."))
	case !ok:
		return a.respond(ctx, in, answerMessage, newPage("Use this in a conversation with me: a thread that I am in, or our direct messages."))
	case in.Data.Name == "stop":
		return a.halt(ctx, in, p, userOf(*in.User, in.Member))
	}
	text := in.Data.Name
	for _, name := range []string{"switch", "name"} {
		if v := in.Option(name); v != "" {
			text += " " + v
		}
	}
	m := chat.Message{Ref: api.RefOf(p, in.ID), From: userOf(*in.User, in.Member), Text: chat.Flat(text), Sent: api.SentAt(in.ID)}
	if err := a.promise(ctx, in, false); err != nil {
		return err
	}
	private := !isPublic(in.Data.Name)
	if private {
		a.asides.waits(in, a.o.Now())
	}
	if _, err := a.o.Inbox.Message(ctx, api.ThreadID(p), m, api.InteractionKey(in.ID)); err != nil {
		a.asides.take(in.ID)
		a.log.Warn("put a command", "error", err)
		return a.fulfil(ctx, in, newPage(front.Away))
	}
	if private {
		a.asides.late(ctx, in, func(ctx context.Context) error {
			return a.fulfil(ctx, in, newPage("The answer comes in this conversation."))
		})
		return nil
	}
	return a.fulfil(ctx, in, newPage("The answer comes in this conversation."))
}

// halt stops the running turn.
func (a *Adapter) halt(ctx context.Context, in api.Interaction, p api.Place, by chat.User) error {
	if err := a.promise(ctx, in, false); err != nil {
		return err
	}
	ans, err := a.Click(ctx, front.Click{Verb: front.Stop, Thread: api.ThreadID(p), By: by, ID: api.InteractionKey(in.ID)})
	if err != nil {
		a.log.Warn("put a command", "error", err)
		ans.Alone = front.Away
	}
	return a.fulfil(ctx, in, newPage(ans.Alone))
}

// sorry says that a command had no effect.
func (a *Adapter) sorry(ctx context.Context, in api.Interaction, why error) error {
	a.log.Warn("put a command", "error", why)
	return a.respond(ctx, in, answerMessage, newPage(front.Away))
}

// ask shows the question as a message, and puts that message. It is also heard as
// any other is, so that nothing is lost if this process ends right here: what it
// says is the person's, as Discord tells.
func (a *Adapter) ask(ctx context.Context, in api.Interaction) error {
	question := dialect.Shorten(in.Option("question"), layout.MostContent)
	if question == "" {
		return a.respond(ctx, in, answerMessage, newPage("Ask me something: `/ask question:`…"))
	}
	return a.show(ctx, in, question, api.Message{Attachments: in.Files()})
}

// show answers an interaction with a question, for everybody to see, and puts it
// with what comes along: nothing of that is in the message that is heard, by this
// process or by another one that got the interaction too.
func (a *Adapter) show(ctx context.Context, in api.Interaction, text string, along api.Message) error {
	if may, err := strconv.ParseInt(in.May, 10, 64); err == nil && in.GuildID != "" && may&discordgo.PermissionViewChannel == 0 {
		return a.respond(ctx, in, answerMessage, newPage("I can't see this channel, so I can't answer here."))
	}
	if len(along.Attachments) > 0 || along.Aside != nil {
		a.asides.brings(in.ID, along)
	}
	if in.Channel != nil && in.Channel.Thread() { // who is not in a thread may not hear what is said in it
		a.join(ctx, in.ChannelID)
	}
	p := newPage(text)
	p.Flags = api.SuppressEmbeds
	shown, err := a.respondWith(ctx, in, answerMessage, p)
	if err != nil || shown == nil { // where it is shown all the same it is heard
		return err
	}
	m := *shown
	m.GuildID, m.ChannelID, m.Member = in.GuildID, in.ChannelID, in.Member
	a.inLane(context.WithoutCancel(ctx), m.ChannelID, gateway.Event{}, func(ctx context.Context, _ bool) error { return a.message(ctx, m) })
	return nil
}

// join makes the bot a member of a thread.
func (a *Adapter) join(ctx context.Context, thread string) {
	err := a.rest.Call(ctx, api.Request{Method: "PUT", Path: "/channels/{}/thread-members/@me", IDs: []string{thread}, Priority: outbox.Answer})
	if err != nil {
		a.log.Debug("join a thread", "error", err)
	}
}

// askAbout asks what somebody wants to know of a message. The command brings what
// the message says along, also where the bot could not read it.
func (a *Adapter) askAbout(ctx context.Context, in api.Interaction) error {
	target, ok := in.Data.Resolved.Messages[in.Data.Target]
	if !ok || target.Author == nil {
		return fmt.Errorf("%w: message command", api.ErrMalformed)
	}
	a.asides.targets.Put(in.ID, target)
	field := map[string]any{
		"type": 4, "custom_id": "question", "style": 2, "required": true, "max_length": 1000, "value": "What does this mean?",
	}
	return a.respond(ctx, in, answerForm, map[string]any{
		"custom_id": strings.Join([]string{aboutForm, in.ID, in.ChannelID, in.Data.Target}, "|"), "title": askAbout,
		"components": []any{map[string]any{"type": 18, "label": "Question", "component": field}},
	})
}

const aboutForm = "about"

// askedAbout shows the question about a message, and puts it with the message.
func (a *Adapter) askedAbout(ctx context.Context, in api.Interaction, id string) error {
	parts := strings.Split(id, "|")
	if len(parts) != 4 || parts[2] != in.ChannelID {
		return errForeign
	}
	target, ok := a.asides.targets.Get(parts[1])
	if !ok { // another process showed the form
		target = api.Message{Author: &api.User{}, Content: hiddenText}
	}
	guild := chat.FirstOf(in.GuildID, "@me")
	text := dialect.Shorten(strings.TrimSpace(fieldOf(in.Data.Components)), 1000) + "\n-# about https://discord.com/channels/" + guild + "/" + in.ChannelID + "/" + parts[3]
	return a.show(ctx, in, text, api.Message{Attachments: target.Files(), Aside: &target})
}

// spoken is the conversation in which a command was given; ok is false where
// there is none.
func (a *Adapter) spoken(ctx context.Context, in api.Interaction) (p api.Place, ok bool, err error) {
	if in.GuildID == "" {
		return api.Place{Channel: in.ChannelID}, true, nil
	}
	c := api.Channel{}
	if in.Channel != nil {
		c = *in.Channel
	}
	if c.ID == "" || c.Thread() && c.ParentID == "" {
		if c, err = a.atlas.Channel(ctx, in.ChannelID); err != nil {
			return api.Place{}, false, err
		}
	}
	if !c.Thread() {
		return api.Place{}, false, nil
	}
	return api.Place{Channel: c.ParentID, Thread: c.ID}, true, nil
}
