package api

import (
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
)

// Application is the app that the bot belongs to
// (https://discord.com/developers/docs/resources/application).
type Application struct {
	ID       string          `json:"id"`
	Flags    int             `json:"flags"`
	Public   *bool           `json:"bot_public"`
	Owner    User            `json:"owner"`
	Team     *discordgo.Team `json:"team"`
	Endpoint string          `json:"interactions_endpoint_url"`
}

// Flags of an application that has the Message Content Intent or the Server Members
// Intent, in few guilds or in many
// (https://discord.com/developers/docs/resources/application#application-object-application-flags).
const (
	MessageContent = 1<<18 | 1<<19
	GuildMembers   = 1<<14 | 1<<15
)

// Guilds lists the guilds that the bot is in, page by page.
func Guilds(ask func(path string, into any) error) ([]Guild, error) {
	const most = 200
	var out []Guild
	for after := "0"; ; {
		var page []Guild
		if err := ask(fmt.Sprintf("/users/@me/guilds?limit=%d&after=%s", most, after), &page); err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < most {
			return out, nil
		}
		after = page[len(page)-1].ID
	}
}

// UserOf is a person as others see them in a guild; in is nil elsewhere.
func UserOf(u User, in *Member) chat.User {
	out := chat.User{ID: chat.UserID(u.ID), Name: chat.Flat(chat.FirstOf(u.GlobalName, u.Username)), Bot: u.Bot}
	if in != nil {
		out.Name = chat.Flat(chat.FirstOf(in.Nick, out.Name))
	}
	return out
}
