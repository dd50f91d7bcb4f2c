package discord

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/commands"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/gateway"
	"nod/adapters/discord/layout"
	"nod/adapters/discord/people"
	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/outbox"
	"nod/front"
)

// register makes the commands known, unless they are already: changing them
// counts against a limit of the day.
func (a *Adapter) register(ctx context.Context) {
	err := a.Repeat(ctx, func() error { return commands.Register(ctx, a.rest, a.self.application().ID) })
	if err != nil && ctx.Err() == nil {
		a.log.Error("register the commands", "error", err)
	}
}

// command does what a command says, where the bot is. Discord lets people give one
// also where it is not: by an app that they installed for themselves, in direct
// conversations of others. What they said there would be shown and never heard.
func (a *Adapter) command(ctx context.Context, in api.Interaction) error {
	if why := absence(in); why != "" {
		return a.respond(ctx, in, answerMessage, newPage(why))
	}
	heard, served, err := a.people.Heard(ctx, speakerOf(in))
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
	case in.Data.Name == commands.AskAbout:
		return a.askAbout(ctx, in)
	}
	return a.worded(ctx, in)
}

// absence says why a command can't be followed where it was given.
func absence(in api.Interaction) string {
	if in.Context != nil && *in.Context == commands.PrivateContext {
		return "I am not part of this conversation. Write to me directly, or in a server that I am in."
	}
	if _, member := in.Owners[strconv.Itoa(commands.ServerInstall)]; in.Owners != nil && !member {
		return "I am not a member of this server, so I would not hear what is said here. Somebody has to invite me first."
	}
	return ""
}

// speakerOf is who gave a command.
func speakerOf(in api.Interaction) people.Speaker {
	s := people.Speaker{User: in.User.ID, Member: in.Member, Guild: in.GuildID, Channel: in.ChannelID}
	if in.Channel != nil {
		s.Parent = in.Channel.ParentID
	}
	return s
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
		return a.halt(ctx, in, p, api.UserOf(*in.User, in.Member))
	}
	text := in.Data.Name
	for _, option := range [][2]string{{"switch", " "}, {"name", " "}, {"number", " "}, {"text", ": "}, {"fact", " fact "}} {
		if v := in.Option(option[0]); v != "" {
			text += option[1] + v
		}
	}
	m := chat.Message{Ref: api.RefOf(p, in.ID), From: api.UserOf(*in.User, in.Member), Text: chat.Flat(text), Sent: api.SentAt(in.ID)}
	if err := a.promise(ctx, in, false); err != nil {
		return err
	}
	private := !commands.Public(in.Data.Name)
	if private {
		a.asides.waits(in, a.o.Now())
	}
	if _, err := a.o.Inbox.Message(ctx, api.ThreadID(p), m, api.InteractionKey(in.ID)); err != nil {
		a.asides.take(in.ID)
		a.log.Warn("put a command", "error", err)
		return a.fulfil(ctx, in, newPage(front.Away))
	}
	comes := func(ctx context.Context) error {
		return a.fulfil(ctx, in, newPage("The answer comes in this conversation."))
	}
	if private {
		a.asides.late(ctx, in, comes)
		return nil
	}
	return comes(ctx)
}

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
	if in.Channel != nil && in.Channel.IsThread() { // who is not in a thread may not hear what is said in it
		a.join(ctx, in.ChannelID)
	}
	p := newPage(text)
	p.Flags = discordgo.MessageFlagsSuppressEmbeds
	shown, err := a.respondWith(ctx, in, answerMessage, p)
	if err != nil || shown == nil { // where it is shown all the same it is heard
		return err
	}
	m := *shown
	m.GuildID, m.ChannelID, m.Member = in.GuildID, in.ChannelID, in.Member
	a.inLane(context.WithoutCancel(ctx), m.ChannelID, gateway.Event{}, func(ctx context.Context, _ bool) error { return a.put(ctx, m, false) })
	return nil
}

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
		"custom_id": strings.Join([]string{aboutForm, in.ID, in.ChannelID, in.Data.Target}, "|"), "title": commands.AskAbout,
		"components": []any{map[string]any{"type": 18, "label": "Question", "component": field}},
	})
}

const aboutForm = "about"

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
	if c.ID == "" || c.IsThread() && c.ParentID == "" {
		if c, err = a.atlas.Channel(ctx, in.ChannelID); err != nil {
			return api.Place{}, false, err
		}
	}
	if !c.IsThread() {
		return api.Place{}, false, nil
	}
	return api.Place{Channel: c.ParentID, Thread: c.ID}, true, nil
}

// Discord's limits of suggestions
// (https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-autocomplete).
const (
	mostChoices = 25
	mostChoice  = 100
)

// suggest completes the name of a tool or a file that somebody types. There are 3 s
// for that, and no other answer: where nothing is known in time there is no
// suggestion, and the name can be typed all the same.
func (a *Adapter) suggest(ctx context.Context, in api.Interaction) error {
	choices := []commands.Choice{}
	typed := strings.ToLower(in.Focused())
	for _, name := range a.completions(ctx, in) {
		if len(choices) < mostChoices && name != "" && markdown.UTF16(name) <= mostChoice && strings.Contains(strings.ToLower(name), typed) {
			choices = append(choices, commands.Choice{Name: name, Value: name})
		}
	}
	return a.respond(ctx, in, answerChoices, map[string]any{"choices": choices})
}

// completions are the names that may be meant.
func (a *Adapter) completions(ctx context.Context, in api.Interaction) []string {
	ctx, cancel := context.WithTimeout(ctx, a.o.Defer)
	defer cancel()
	if heard, _, err := a.people.Heard(ctx, speakerOf(in)); err != nil || !heard || absence(in) != "" {
		return nil
	}
	if in.Data.Name == "tools" {
		return a.o.Tools
	}
	p, ok, err := a.spoken(ctx, in)
	if err != nil || !ok {
		return nil
	}
	names, err := a.o.Inbox.Files(ctx, api.ThreadID(p))
	if err != nil {
		a.log.Warn("suggest files", "error", err)
	}
	return names
}
