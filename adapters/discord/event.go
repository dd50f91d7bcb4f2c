package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// The shapes below are what nod reads of Discord's objects. Discord adds
// fields and leaves out others, so nothing is required, and what may have any
// shape stays raw.

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

type member struct {
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
	User  *user    `json:"user"`

	GuildID string `json:"guild_id"` // of an event
}

type mentioned struct {
	user
	Member *member `json:"member"`
}

type attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	URL         string `json:"url"`
}

type reference struct {
	Type      int    `json:"type"`
	ChannelID string `json:"channel_id"`
	MessageID string `json:"message_id"`
}

type emoji struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type message struct {
	ID           string       `json:"id"`
	ChannelID    string       `json:"channel_id"`
	GuildID      string       `json:"guild_id"`
	Author       *user        `json:"author"`
	Member       *member      `json:"member"`
	WebhookID    string       `json:"webhook_id"`
	Type         int          `json:"type"`
	Flags        int          `json:"flags"`
	Content      string       `json:"content"`
	Edited       string       `json:"edited_timestamp"`
	Mentions     []mentioned  `json:"mentions"`
	MentionRoles []string     `json:"mention_roles"`
	Attachments  []attachment `json:"attachments"`
	Stickers     []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Poll *struct {
		Question struct {
			Text string `json:"text"`
		} `json:"question"`
		Answers []struct {
			Media struct {
				Text string `json:"text"`
			} `json:"poll_media"`
		} `json:"answers"`
	} `json:"poll"`
	Reference  *reference `json:"message_reference"`
	Referenced *message   `json:"referenced_message"`
	Snapshots  []struct {
		Message *message `json:"message"`
	} `json:"message_snapshots"`
	Interaction *struct {
		ID   string `json:"id"`
		Type int    `json:"type"`
		User *user  `json:"user"`
	} `json:"interaction_metadata"`
	Aside *message `json:"-"` // the message that it asks about

	Nonce      json.RawMessage `json:"nonce"`
	Components json.RawMessage `json:"components"`
	Embeds     json.RawMessage `json:"embeds"`
	Reactions  []struct {
		Emoji emoji `json:"emoji"`
	} `json:"reactions"`
}

type reaction struct {
	UserID    string  `json:"user_id"`
	ChannelID string  `json:"channel_id"`
	MessageID string  `json:"message_id"`
	GuildID   string  `json:"guild_id"`
	AuthorID  string  `json:"message_author_id"`
	Member    *member `json:"member"`
	Emoji     emoji   `json:"emoji"`
	Burst     bool    `json:"burst"`
}

type deletion struct {
	ID        string   `json:"id"`
	IDs       []string `json:"ids"`
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
}

type channel struct {
	ID       string `json:"id"`
	Type     int    `json:"type"`
	GuildID  string `json:"guild_id"`
	ParentID string `json:"parent_id"`
	Name     string `json:"name"`
	Owner    string `json:"owner_id"` // of a thread: who started it
	Last     string `json:"last_message_id"`

	Overwrites []overwrite `json:"permission_overwrites"`
	Metadata   *struct {
		Archived bool `json:"archived"`
	} `json:"thread_metadata"`
}

// overwrite is what a role or a person may do in a channel besides what the guild
// says (https://discord.com/developers/docs/topics/permissions#permission-overwrites).
type overwrite struct {
	ID    string `json:"id"`
	Allow bits   `json:"allow"`
	Deny  bits   `json:"deny"`
}

// bits are permissions, which Discord writes as text.
type bits int64

// UnmarshalText reads them.
func (b *bits) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	*b = bits(n)
	return err
}

type role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	May  bits   `json:"permissions"`
	Tags struct {
		BotID string `json:"bot_id"` // the bot with which the role came
	} `json:"tags"`
}

type guild struct {
	ID       string    `json:"id"`
	Channels []channel `json:"channels"`
	Threads  []channel `json:"threads"`
	Owner    string    `json:"owner_id"`
	Tier     *int      `json:"premium_tier"` // of its boosts
	Roles    []role    `json:"roles"`
	Members  []member  `json:"members"`

	GuildID     string `json:"guild_id"` // of an event
	Unavailable bool   `json:"unavailable"`
}

type interaction struct {
	ID            string   `json:"id"`
	ApplicationID string   `json:"application_id"`
	Type          int      `json:"type"`
	Token         string   `json:"token"`
	ChannelID     string   `json:"channel_id"`
	GuildID       string   `json:"guild_id"`
	Member        *member  `json:"member"`
	User          *user    `json:"user"`
	May           string   `json:"app_permissions"`
	Message       *message `json:"message"`
	Channel       *channel `json:"channel"`
	Context       *int     `json:"context"`
	// Owners are by whom the app is installed, by the kind of installation.
	Owners map[string]json.RawMessage `json:"authorizing_integration_owners"`
	Data   struct {
		CustomID string `json:"custom_id"`
		// Components are what a form was filled in with.
		Components json.RawMessage `json:"components"`
		Target     string          `json:"target_id"` // of a message command
		Resolved   struct {
			Attachments map[string]attachment `json:"attachments"`
			Messages    map[string]message    `json:"messages"`
		} `json:"resolved"`
		Name    string `json:"name"`
		Options []struct {
			Name    string          `json:"name"`
			Value   json.RawMessage `json:"value"`
			Focused bool            `json:"focused"` // it is being typed
		} `json:"options"`
	} `json:"data"`
}

// Kinds of messages, channels, flags and interactions that mean something here
// (https://discord.com/developers/docs/resources/message,
// https://discord.com/developers/docs/resources/channel,
// https://discord.com/developers/docs/interactions/receiving-and-responding).
const (
	plainMessage   = 0
	replyMessage   = 19
	commandMessage = 20
	threadStarter  = 21

	directChannel   = 1
	voiceChannel    = 2
	categoryChannel = 4
	forumChannel    = 15
	announceThread  = 10
	publicThread    = 11
	privateThread   = 12

	suppressEmbeds = 1 << 2
	silent         = 1 << 12 // it rings nowhere
	components     = 1 << 15 // it is a card, and has no content
	ephemeral      = 1 << 6

	commandInteraction   = 2
	componentInteraction = 3
	typedInteraction     = 4
	formInteraction      = 5
)

func (c channel) thread() bool {
	return c.Type == announceThread || c.Type == publicThread || c.Type == privateThread
}

// name is what people see of an emoji: the character, or for a guild's own one
// its name and id, which no configured name can be taken for.
func (e emoji) name() string {
	if e.ID != "" {
		return e.Name + ":" + e.ID
	}
	return e.Name
}

// errMalformed is for events that can't be understood, and won't be when they
// come again.
var errMalformed = errors.New("malformed event")

func decode(data json.RawMessage, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

func readMessage(data json.RawMessage) (message, error) {
	var m message
	if err := decode(data, &m); err != nil {
		return m, err
	}
	if snowflake(m.ID) == 0 || snowflake(m.ChannelID) == 0 || m.Author == nil || m.Author.ID == "" {
		return m, fmt.Errorf("%w: message without id, channel or author", errMalformed)
	}
	return m, nil
}

func readReaction(data json.RawMessage) (reaction, error) {
	var r reaction
	if err := decode(data, &r); err != nil {
		return r, err
	}
	if r.ChannelID == "" || snowflake(r.MessageID) == 0 {
		return r, fmt.Errorf("%w: reaction without message", errMalformed)
	}
	return r, nil
}

func readDeletion(data json.RawMessage) (deletion, error) {
	var d deletion
	if err := decode(data, &d); err != nil {
		return d, err
	}
	if d.ID != "" {
		d.IDs = append(d.IDs, d.ID)
	}
	if d.ChannelID == "" || len(d.IDs) == 0 {
		return d, fmt.Errorf("%w: deletion without message", errMalformed)
	}
	return d, nil
}

func readInteraction(data json.RawMessage) (interaction, error) {
	var in interaction
	if err := decode(data, &in); err != nil {
		return in, err
	}
	if in.Member != nil && in.Member.User != nil {
		in.User = in.Member.User
	}
	if in.ID == "" || in.Token == "" || in.User == nil || in.User.ID == "" {
		return in, fmt.Errorf("%w: interaction without id, token or user", errMalformed)
	}
	return in, nil
}
