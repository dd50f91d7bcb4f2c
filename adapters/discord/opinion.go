package discord

import (
	"context"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
)

// Under an answer stand buttons: what somebody thinks of it, and another try.
// Whoever thinks badly of it is asked once, alone, what was wrong.

// The kinds of the buttons under an answer, and of the form that asks.
const (
	goodButton  = "good"
	badButton   = "bad"
	retryButton = "again"
	wrongForm   = "wrong"
	mostWrong   = 1000
	notedText   = "Noted, thank you."
)

// verdict is what a button under an answer, or the form behind it, is about.
type verdict struct {
	kind   string
	place  place
	answer string // the answer's first message; empty: the one with the button
}

// id writes the id of a button. Its parts are a kind and ids, so it is never too
// long.
func (v verdict) id() string { return strings.Join([]string{v.kind, v.place.String(), v.answer}, "|") }

func readVerdict(id string) (verdict, bool) {
	parts, ok := readID(id, 3, goodButton, badButton, retryButton, wrongForm)
	if !ok {
		return verdict{}, false
	}
	return verdict{parts[0], readPlace(parts[1]), parts[2]}, true
}

// on is the answer that it is about.
func (v verdict) on(in interaction) chat.MessageRef {
	id := v.answer
	if id == "" && in.Message != nil {
		id = in.Message.ID
	}
	return refOf(v.place, id)
}

// under are the buttons under part n of a post: under the last message of an
// answer, and of nothing else.
func (s *sending) under(n int) []discordgo.MessageComponent {
	if s.post.Text == nil || s.post.Text.Notice || n != len(s.parts)-1 {
		return nil
	}
	id := func(kind string) string { return verdict{kind, placeOf(s.thread), s.first}.id() }
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

// judged does what a button under an answer says.
func (a *Adapter) judged(ctx context.Context, in interaction, v verdict) error {
	by, ok, err := a.decider(ctx, in, v.place)
	if err != nil || !ok {
		return err
	}
	if v.kind == retryButton {
		r := chat.Reaction{On: v.on(in), By: by, Emoji: chat.EmojiRetry, Button: true}
		defer a.asides.clicked(r, in, a.o.Now())()
		if err := a.putSoon(ctx, func(ctx context.Context) error {
			_, err := a.o.Inbox.Reaction(ctx, r, interactionKey(in.ID))
			return err
		}); err != nil {
			return a.sorry(ctx, in, err)
		}
		return a.respond(ctx, in, promiseToChange, nil)
	}
	if err := a.thinks(ctx, in, v, by, ""); err != nil {
		return a.sorry(ctx, in, err)
	}
	if v.kind != badButton || !a.wondered.Add(clickOn{v.on(in).ID, by.ID}) {
		return a.respond(ctx, in, answerMessage, newPage(notedText))
	}
	field := map[string]any{
		"type": 4, "custom_id": "reason", "style": 2, "required": false, "max_length": mostWrong,
		"placeholder": "It is out of date, for example",
	}
	_, err = a.reply(ctx, in, answerForm, map[string]any{
		"custom_id": verdict{wrongForm, v.place, v.on(in).ID}.id(), "title": "What was wrong?",
		"components": []any{map[string]any{"type": 18, "label": "Reason", "component": field}},
	})
	if err != nil && code(err) != codeAnswered { // another process may have opened it
		a.wondered.Take(clickOn{v.on(in).ID, by.ID})
	}
	if takesMore(err) {
		return a.respond(ctx, in, answerMessage, notice(err))
	}
	return err
}

// criticised takes in what was wrong with an answer.
func (a *Adapter) criticised(ctx context.Context, in interaction, v verdict) error {
	by, ok, err := a.decider(ctx, in, v.place)
	if err != nil || !ok {
		return err
	}
	if text := shorten(chat.Flat(fieldOf(in.Data.Components)), mostWrong); text != "" {
		if err := a.thinks(ctx, in, v, by, text); err != nil {
			return a.sorry(ctx, in, err)
		}
	}
	return a.respond(ctx, in, answerMessage, newPage(notedText))
}

// decider is who clicked; ok is false, and they are told, where they may not.
func (a *Adapter) decider(ctx context.Context, in interaction, p place) (by chat.User, ok bool, err error) {
	if !in.in(p) {
		return by, false, errForeign
	}
	barred, err := a.barred(ctx, in.speaker())
	switch {
	case err != nil:
		return by, false, a.sorry(ctx, in, err)
	case barred != "":
		return by, false, a.respond(ctx, in, answerMessage, newPage("I am not set up to answer you."))
	}
	return userOf(*in.User, in.Member), true, nil
}

// thinks puts what somebody thinks of an answer.
func (a *Adapter) thinks(ctx context.Context, in interaction, v verdict, by chat.User, wrong string) error {
	return a.putSoon(ctx, func(ctx context.Context) error {
		fresh, err := a.o.Inbox.Feedback(ctx, v.on(in), by, v.kind == goodButton, wrong, interactionKey(in.ID))
		if err == nil {
			a.o.Observe.Put(fresh)
		}
		return err
	})
}
