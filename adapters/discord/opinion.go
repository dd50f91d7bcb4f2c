package discord

import (
	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/front"
)

// under are the buttons under part n of a post: under the last message of an
// answer, and of nothing else.
func (s *sending) under(n int) []discordgo.MessageComponent {
	if s.post.Text == nil || s.post.Text.Notice || n != len(s.parts)-1 {
		return nil
	}
	about := front.Click{Thread: s.thread, On: chat.MessageRef{ID: s.first}} // "": the message with the button
	id := func(kind string) string { return idOf(kind, about) }
	var out []discordgo.MessageComponent
	for _, b := range []struct{ kind, emoji string }{{goodButton, chat.EmojiGood}, {badButton, chat.EmojiBad}} {
		out = append(out, discordgo.Button{
			Emoji: &discordgo.ComponentEmoji{Name: b.emoji}, Style: discordgo.SecondaryButton, CustomID: id(b.kind),
		})
	}
	if s.a.o.Retries {
		out = append(out, discordgo.Button{Label: "Try again", Style: discordgo.SecondaryButton, CustomID: id(retryButton)})
	}
	return out
}
