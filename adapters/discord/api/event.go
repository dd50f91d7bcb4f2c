package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
)

// The shapes below are what nod reads of Discord's objects. Discord adds
// fields and leaves out others, so nothing is required, and what may have any
// shape stays raw.

type (
	// User is an account.
	User = discordgo.User
	// Member is one in a guild.
	Member = discordgo.Member
	// Attachment is a file of a message.
	Attachment = discordgo.MessageAttachment
	// Emoji may be a guild's own.
	Emoji = discordgo.Emoji
	// Channel may be a thread.
	Channel = discordgo.Channel
	// Overwrite changes in a channel what the guild says of a role or person.
	Overwrite = discordgo.PermissionOverwrite
)

// Mentioned is an account that a message mentions.
type Mentioned struct {
	User
	Member *Member `json:"member"`
}

// Message is a message (https://discord.com/developers/docs/resources/message#message-object).
type Message struct {
	ID           string                      `json:"id"`
	ChannelID    string                      `json:"channel_id"`
	GuildID      string                      `json:"guild_id"`
	Author       *User                       `json:"author"`
	Member       *Member                     `json:"member"`
	WebhookID    string                      `json:"webhook_id"`
	Type         discordgo.MessageType       `json:"type"`
	Flags        discordgo.MessageFlags      `json:"flags"`
	Content      string                      `json:"content"`
	Edited       string                      `json:"edited_timestamp"`
	Mentions     []Mentioned                 `json:"mentions"`
	MentionRoles []string                    `json:"mention_roles"`
	Attachments  []Attachment                `json:"attachments"`
	Stickers     []discordgo.StickerItem     `json:"sticker_items"`
	Poll         *discordgo.Poll             `json:"poll"`
	Reference    *discordgo.MessageReference `json:"message_reference"`
	Referenced   *Message                    `json:"referenced_message"`
	Snapshots    []struct {
		Message *Message `json:"message"`
	} `json:"message_snapshots"`
	Interaction *discordgo.MessageInteractionMetadata `json:"interaction_metadata"`

	Aside *Message `json:"-"` // the message that it asks about

	Nonce      json.RawMessage `json:"nonce"`
	Components json.RawMessage `json:"components"`
	Embeds     json.RawMessage `json:"embeds"`
	Reactions  []struct {
		Emoji Emoji `json:"emoji"`
	} `json:"reactions"`
}

// Reaction is a reaction that was put on a message or taken off.
type Reaction struct {
	UserID    string  `json:"user_id"`
	ChannelID string  `json:"channel_id"`
	MessageID string  `json:"message_id"`
	GuildID   string  `json:"guild_id"`
	AuthorID  string  `json:"message_author_id"`
	Member    *Member `json:"member"`
	Emoji     Emoji   `json:"emoji"`
	Burst     bool    `json:"burst"`
}

// Deletion is one or several messages that were deleted.
type Deletion struct {
	ID        string   `json:"id"`
	IDs       []string `json:"ids"`
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
}

// Role is a role of a guild.
type Role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	May  int64  `json:"permissions,string"`
	Open bool   `json:"mentionable"` // anybody may ring with it
	Tags struct {
		BotID string `json:"bot_id"` // the bot with which the role came
	} `json:"tags"`
}

// Guild is a server.
type Guild struct {
	ID       string    `json:"id"`
	Channels []Channel `json:"channels"`
	Threads  []Channel `json:"threads"`
	Owner    string    `json:"owner_id"`
	Tier     *int      `json:"premium_tier"` // of its boosts
	Roles    []Role    `json:"roles"`
	Members  []Member  `json:"members"`

	Name string `json:"name"`               // in a list of those that the bot is in
	May  int64  `json:"permissions,string"` // likewise

	GuildID     string `json:"guild_id"` // of an event
	Unavailable bool   `json:"unavailable"`
}

// Interaction is a click, a command or a form (https://discord.com/developers/docs/interactions/receiving-and-responding).
type Interaction struct {
	ID            string                    `json:"id"`
	ApplicationID string                    `json:"application_id"`
	Type          discordgo.InteractionType `json:"type"`
	Token         string                    `json:"token"`
	ChannelID     string                    `json:"channel_id"`
	GuildID       string                    `json:"guild_id"`
	Member        *Member                   `json:"member"`
	User          *User                     `json:"user"`
	May           string                    `json:"app_permissions"`
	Message       *Message                  `json:"message"`
	Channel       *Channel                  `json:"channel"`
	Context       *int                      `json:"context"`
	// Owners are by whom the app is installed, by the kind of installation.
	Owners map[string]json.RawMessage `json:"authorizing_integration_owners"`
	Data   struct {
		CustomID string `json:"custom_id"`
		// Components are what a form was filled in with.
		Components json.RawMessage `json:"components"`
		Target     string          `json:"target_id"` // of a message command
		Resolved   struct {
			Attachments map[string]Attachment `json:"attachments"`
			Messages    map[string]Message    `json:"messages"`
		} `json:"resolved"`
		Name    string `json:"name"`
		Options []struct {
			Name    string          `json:"name"`
			Value   json.RawMessage `json:"value"`
			Focused bool            `json:"focused"` // it is being typed
		} `json:"options"`
	} `json:"data"`
}

// ErrMalformed is for events that can't be understood, and won't be when they
// come again.
var ErrMalformed = errors.New("malformed event")

// Decode reads an event; the error is an [ErrMalformed].
func Decode(data json.RawMessage, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// read reads an event that is whole.
func read[T any](data json.RawMessage, lacks string, whole func(*T) bool) (v T, err error) {
	if err = Decode(data, &v); err == nil && !whole(&v) {
		err = fmt.Errorf("%w: %s", ErrMalformed, lacks)
	}
	return v, err
}

// ReadMessage reads a message, which needs an id, a channel and an author.
func ReadMessage(data json.RawMessage) (Message, error) {
	return read(data, "message without id, channel or author", func(m *Message) bool {
		return Snowflake(m.ID) != 0 && Snowflake(m.ChannelID) != 0 && m.Author != nil && m.Author.ID != ""
	})
}

// ReadReaction reads a reaction, which needs a message.
func ReadReaction(data json.RawMessage) (Reaction, error) {
	return read(data, "reaction without message", func(r *Reaction) bool { return r.ChannelID != "" && Snowflake(r.MessageID) != 0 })
}

// ReadDeletion reads a deletion, which needs a message.
func ReadDeletion(data json.RawMessage) (Deletion, error) {
	return read(data, "deletion without message", func(d *Deletion) bool {
		if d.ID != "" {
			d.IDs = append(d.IDs, d.ID)
		}
		return d.ChannelID != "" && len(d.IDs) > 0
	})
}

// ReadInteraction reads an interaction, which needs an id, a token and a user.
func ReadInteraction(data json.RawMessage) (Interaction, error) {
	return read(data, "interaction without id, token or user", func(in *Interaction) bool {
		if in.Member != nil && in.Member.User != nil {
			in.User = in.Member.User
		}
		return in.ID != "" && in.Token != "" && in.User != nil && in.User.ID != ""
	})
}

// In says whether an interaction came from a place.
func (in Interaction) In(p Place) bool { return in.ChannelID == p.Channel || in.ChannelID == p.Thread }

// Option is the text of an option; empty where it was not given.
func (in Interaction) Option(name string) string {
	for _, o := range in.Data.Options {
		var text string
		if o.Name == name && json.Unmarshal(o.Value, &text) == nil {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// Files are those that come along with a question.
func (in Interaction) Files() []Attachment {
	var files []Attachment
	for _, name := range []string{"file", "file2", "file3"} {
		if f, ok := in.Data.Resolved.Attachments[in.Option(name)]; ok {
			files = append(files, f)
		}
	}
	return files
}

// Focused is what has been typed so far.
func (in Interaction) Focused() string {
	for _, o := range in.Data.Options {
		if o.Focused {
			return in.Option(o.Name)
		}
	}
	return ""
}

// Bears says whether a message is the one that a mark stands for.
func (m Message) Bears(mark string) bool {
	return strings.Contains(m.Content, "-"+mark) || strings.Contains(string(m.Components), "-"+mark) ||
		slices.ContainsFunc(m.Attachments, func(f Attachment) bool { return chat.HasMark(f.Filename, mark) })
}

// Unspoken is what a message says beside its text: stickers, a poll, a voice message, of
// which Discord tells only how long it is.
func (m Message) Unspoken() string {
	var parts []string
	for _, f := range m.Attachments {
		if f.DurationSecs > 0 {
			parts = append(parts, fmt.Sprintf("[voice message of %.0f s, not written down]", math.Ceil(f.DurationSecs)))
		}
	}
	for _, s := range m.Stickers {
		parts = append(parts, "[sticker: "+chat.Flat(s.Name)+"]")
	}
	if p := m.Poll; p != nil {
		text := "[poll: " + chat.Flat(p.Question.Text)
		for _, answer := range p.Answers {
			media := cmp.Or(answer.Media, &discordgo.PollMedia{})
			text += " / " + chat.Flat(cmp.Or(media.Emoji, &discordgo.ComponentEmoji{}).Name+" "+media.Text)
		}
		parts = append(parts, text+"]")
	}
	return strings.Join(parts, " ")
}

// Written says whether somebody wrote a message, or a bot as the answer to a command;
// Discord itself wrote the others. An answer that is still to come says nothing.
func (m Message) Written() bool {
	return (m.Type == discordgo.MessageTypeDefault || m.Type == discordgo.MessageTypeReply || m.Commanded()) &&
		m.Flags&(discordgo.MessageFlagsEphemeral|discordgo.MessageFlagsLoading) == 0
}

// Commanded says whether a message is the answer to a command.
func (m Message) Commanded() bool {
	return m.Type == discordgo.MessageTypeChatInputCommand || m.Type == discordgo.MessageTypeContextMenuCommand
}

// Said is what a message says: its text, and what is [Message.Unspoken].
func (m Message) Said() string { return strings.TrimSpace(m.Content + "\n" + m.Unspoken()) }

// Lines are what a message says, in its text or on its card.
func (m Message) Lines() []string {
	out := strings.Split(m.Content, "\n")
	for _, c := range m.Shown() {
		if c.Content != "" {
			out = append(out, strings.Split(c.Content, "\n")...)
		}
	}
	return out
}

// Component shows a text or leads to a page, or holds others that do
// (https://discord.com/developers/docs/components/reference).
type Component struct {
	Type       int             `json:"type"`
	Content    string          `json:"content"`
	Label      string          `json:"label"`
	URL        string          `json:"url"`
	Components json.RawMessage `json:"components"`
	Accessory  json.RawMessage `json:"accessory"`
}

// deepest is how deep components stand within each other.
const deepest = 4

// Shown are the components of a message, each before those in it.
func (m Message) Shown() []Component { return components(nil, m.Components, 0) }

func components(out []Component, raw json.RawMessage, depth int) []Component {
	var all []Component
	if len(raw) == 0 || depth > deepest || json.Unmarshal(raw, &all) != nil {
		return out
	}
	for _, c := range all {
		out = components(append(out, c), c.Components, depth+1)
		if len(c.Accessory) > 0 {
			out = components(out, slices.Concat([]byte{'['}, c.Accessory, []byte{']'}), depth+1)
		}
	}
	return out
}

// Files are those of a message, and of what it forwards.
func (m Message) Files() []Attachment {
	out := slices.Clone(m.Attachments)
	for _, s := range m.Snapshots {
		if s.Message != nil {
			out = append(out, s.Message.Attachments...)
		}
	}
	return out
}
