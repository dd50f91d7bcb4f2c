package discord

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// openDirect opens the direct conversation with somebody
// (https://discord.com/developers/docs/resources/user#create-dm). Repeating it is
// harmless, and whether they take messages is known when one is posted.
func (a *Adapter) openDirect(ctx context.Context, who string) (string, error) {
	var said api.Channel
	err := a.rest.Call(ctx, api.Request{
		Method: "POST", Path: "/users/@me/channels", Body: map[string]string{"recipient_id": who}, Priority: outbox.Approval, Answer: &said,
	})
	if err == nil && said.ID == "" {
		err = errors.New("the answer names no channel")
	}
	if err != nil {
		return "", fmt.Errorf("open a direct conversation: %w", api.Final(err))
	}
	return said.ID, nil
}

// Direct says whether a thread is a direct conversation.
func (a *Adapter) Direct(thread chat.ThreadID) bool { return api.PlaceOf(thread).Direct() }

// Partner is the person with whom a thread is a direct conversation; "" where it is none,
// and in doubt.
func (a *Adapter) Partner(ctx context.Context, thread chat.ThreadID) chat.UserID {
	p := api.PlaceOf(thread)
	if !p.Direct() {
		return ""
	}
	type with struct {
		Recipients []api.User `json:"recipients"`
	}
	said, err := api.Get[with](ctx, a.rest, outbox.Answer, "/channels/{}", p.Channel)
	if err != nil || len(said.Recipients) != 1 {
		return ""
	}
	return chat.UserID(said.Recipients[0].ID)
}

// People lists whom a rule means; known is false for a role whose members Discord does
// not show, which takes the Server Members Intent.
func (a *Adapter) People(ctx context.Context, thread chat.ThreadID, rule string, most int) (who []chat.User, known bool, err error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case !api.PlainID.MatchString(id):
		return nil, true, nil // another platform's
	case kind == "user":
		u, err := a.user(ctx, id)
		if api.Refused(err) && !api.RefusedToken(err) {
			return nil, true, nil // there is no such account
		}
		return []chat.User{u}, true, err
	case kind != "role" || api.PlaceOf(thread).Direct(): // in a direct conversation nobody has one
		return nil, true, nil
	}
	c, err := a.atlas.Channel(ctx, api.PlaceOf(thread).Channel)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("look up the guild: %w", err)
	case id == c.GuildID: // which everybody has
		return nil, false, nil
	}
	who, known, err = a.people.HaveRole(ctx, c.GuildID, id, most)
	if api.Refused(err) && !api.RefusedToken(err) {
		a.log.Warn("list who may decide", "error", err)
		return nil, false, nil
	}
	return who, known, err
}

// Members says which people have a role now. Any other rule names nothing that Discord has,
// which tells roles by person.
func (a *Adapter) Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	id, ok := strings.CutPrefix(rule, "role:")
	p := api.PlaceOf(thread)
	if !ok || p.Direct() {
		return nil, nil
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return nil, fmt.Errorf("look up the guild: %w", err)
	}
	return a.people.Having(ctx, c.GuildID, id, who)
}

// Possible says whether anybody in the thread could have a role: nobody in a
// direct conversation. In doubt it says yes.
func (a *Adapter) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	p := api.PlaceOf(thread)
	if rule == chat.Anyone {
		return !p.Direct()
	}
	id, ok := strings.CutPrefix(rule, "role:")
	if !ok || p.Direct() {
		return false
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return true
	}
	_ = a.atlas.Learn(ctx, c.GuildID) // in doubt it is possible
	_, has, known := a.atlas.Role(c.GuildID, id)
	return has || !known
}

// excluded are those who may not decide.
func excluded(p chat.Post) []chat.User {
	switch {
	case p.Approval != nil:
		return p.Approval.Exclude
	case p.Text != nil && p.Text.Summons != nil:
		return p.Text.Summons.Exclude
	}
	return nil
}

// MostRung is how many members of a role are named one by one.
const MostRung = 20

// ring lets a message ring with those who may decide. Where a role does not ring, its
// members are named one by one, or the message says that nobody hears it.
func (a *Adapter) ring(ctx context.Context, thread chat.ThreadID, exclude []chat.User, p *layout.Part) {
	roles, channel := p.Pings.Roles, api.PlaceOf(thread).Channel
	if len(roles) == 0 {
		return
	}
	may, known := a.atlas.May(ctx, channel)
	c, err := a.atlas.Channel(ctx, channel)
	if !known || may&discordgo.PermissionMentionEveryone != 0 || err != nil || a.atlas.Learn(ctx, c.GuildID) != nil {
		return
	}
	p.Pings.Roles = nil
	for _, id := range roles {
		if r, _, _ := a.atlas.Role(c.GuildID, id); r.Open { // allowed_mentions do not get around that
			p.Pings.Roles = append(p.Pings.Roles, id)
			continue
		}
		who, all, err := a.people.HaveRole(ctx, c.GuildID, id, MostRung+1)
		if err != nil || !all || len(who) > MostRung {
			p.Add("<@&" + id + "> rings with nobody: the role is not mentionable, and I may not mention it.")
			continue
		}
		var named []string
		for _, u := range who {
			if !u.Bot && !chat.Includes(exclude, u.ID) {
				p.Pings.Users = append(p.Pings.Users, string(u.ID))
				named = append(named, "<@"+string(u.ID)+">")
			}
		}
		p.Add(strings.Join(named, " "))
	}
}

// copyButton is the kind of a vote's button on a card outside of its thread: no form
// opens behind it, since it is not known there which thread a reason is for.
const copyButton = "copy"

// Place is where a card is shown outside of its thread: a channel that the bot may write
// in, or the direct conversation with somebody.
func (a *Adapter) Place(ctx context.Context, at string) (chat.ThreadID, error) {
	kind, id, _ := strings.Cut(at, ":")
	switch {
	case kind != "channel" && kind != "user" || !api.PlainID.MatchString(id):
		return chat.ThreadID{}, chat.ErrElsewhere
	case kind == "user":
		id, err := a.openDirect(ctx, id)
		return api.ThreadID(api.Place{Channel: id}), err
	}
	c, err := a.atlas.Channel(ctx, id)
	if err == nil && c.IsThread() {
		return api.ThreadID(api.Place{Channel: c.ParentID, Thread: c.ID}), nil
	}
	return api.ThreadID(api.Place{Channel: id}), api.Final(err)
}

// refIn names a message of the bot's as a reaction on it does: a card in a channel of
// a server stands where a conversation of its own would begin, and one in a thread or a
// direct conversation is of that.
func refIn(thread chat.ThreadID, p *chat.Approval, id string) chat.MessageRef {
	at := api.PlaceOf(thread)
	if p != nil && p.Home != (chat.ThreadID{}) && !p.Direct && at.Direct() {
		at.Thread = id
	}
	return api.RefOf(at, id)
}
