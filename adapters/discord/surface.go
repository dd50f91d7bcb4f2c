package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// Discord waits 3 s for the first answer to a click or a command. What takes
// longer than [Options.Defer] is answered with a promise first
// (https://discord.com/developers/docs/interactions/receiving-and-responding).
const (
	answerMessage   = 4
	answerPromise   = 5
	answerChange    = 7
	answerChoices   = 8
	answerForm      = 9
	promiseToChange = 6
)

func (a *Adapter) interact(ctx context.Context, in api.Interaction) {
	var err error
	switch in.Type {
	case discordgo.InteractionMessageComponent:
		err = a.pressed(ctx, in)
	case discordgo.InteractionModalSubmit:
		err = a.filled(ctx, in)
	case discordgo.InteractionApplicationCommand:
		err = a.command(ctx, in)
	case discordgo.InteractionApplicationCommandAutocomplete:
		err = a.suggest(ctx, in)
	}
	if err != nil && api.Code(err) != api.CodeAnswered { // another process of this bot was faster
		a.log.Warn("answer an interaction", "type", in.Type, "error", err)
	}
}

// tooLate are refusals after which an interaction takes no other answer: it was
// answered, or is over.
var tooLate = []int{api.CodeAnswered, api.CodeOver}

// takesMore says whether an interaction whose answer was refused takes another one.
func takesMore(err error) bool { return api.Refused(err) && !slices.Contains(tooLate, api.Code(err)) }

// notice is a refusal in words, for whoever waits for an answer.
func notice(err error) page {
	said := chat.Refused{Platform: "Discord", Code: strconv.Itoa(api.Code(err))}
	var r chat.Refused
	if errors.As(api.Final(err), &r) {
		said = r
	}
	return newPage(said.Notice())
}

type page struct {
	Content    string                 `json:"content"`
	Components []any                  `json:"components"`
	Allowed    layout.Pings           `json:"allowed_mentions"`
	Flags      discordgo.MessageFlags `json:"flags,omitempty"`
}

func newPage(content string) page {
	return page{Content: content, Components: []any{}, Allowed: layout.Nobody(), Flags: discordgo.MessageFlagsEphemeral | discordgo.MessageFlagsSuppressEmbeds}
}

// respond gives the first answer.
func (a *Adapter) respond(ctx context.Context, in api.Interaction, kind int, data any) error {
	_, err := a.respondWith(ctx, in, kind, data)
	return err
}

// respondWith gives the first answer, and says which message it became, if that is
// known. What Discord refuses it is said to whoever waits, in place of a line that
// the bot did not respond.
func (a *Adapter) respondWith(ctx context.Context, in api.Interaction, kind int, data any) (*api.Message, error) {
	m, err := a.reply(ctx, in, kind, data)
	if takesMore(err) && kind != promiseToChange && kind != answerChoices {
		if _, failed := a.reply(ctx, in, answerMessage, notice(err)); failed != nil {
			a.log.Warn("say that an answer was refused", "error", failed)
		}
	}
	return m, err
}

func (a *Adapter) reply(ctx context.Context, in api.Interaction, kind int, data any) (*api.Message, error) {
	answer := map[string]any{"type": kind}
	if data != nil {
		answer["data"] = data
	}
	var made struct {
		Resource struct {
			Message *api.Message `json:"message"`
		} `json:"resource"`
	}
	r := api.Request{
		Method: "POST", Path: "/interactions/{}/{}/callback", IDs: []string{in.ID, in.Token}, Body: answer,
		Query: url.Values{"with_response": {"true"}}, Answer: &made,
	}
	err := a.rest.Once(ctx, r)
	if outbox.IsLost(err) || api.Blank(err) || slices.Contains(api.Passing, api.Code(err)) { // there is time for one more
		if err = a.rest.Once(ctx, r); api.Code(err) == api.CodeAnswered {
			return nil, nil
		}
	}
	if m := made.Resource.Message; m != nil && m.Author != nil && m.ID != "" {
		return m, err
	}
	return nil, err
}

// fulfil gives the answer that was promised. Interactions have limits of their
// own, each for itself, so no other call holds it up.
func (a *Adapter) fulfil(ctx context.Context, in api.Interaction, p page) error {
	p.Flags = 0
	r := api.Request{
		Method: "PATCH", Path: "/webhooks/{}/{}/messages/@original", IDs: []string{in.ApplicationID, in.Token}, Body: p,
	}
	err := a.Repeat(ctx, func() error { return a.rest.Apart(ctx, r) })
	if api.Refused(err) {
		if failed := a.tell(ctx, in, notice(err).Content); failed != nil {
			a.log.Warn("say that an answer was refused", "error", failed)
		}
	}
	return err
}

// errForeign is for a button that stands where it was not put.
var errForeign = errors.New("the button names another channel")

// showSteps shows the steps of a turn, in full, to whoever clicked, who sees the
// channel of the button and so may see them.
func (a *Adapter) showSteps(ctx context.Context, in api.Interaction, want layout.Shows) error {
	if !in.In(want.Place) {
		return errForeign
	}
	ready := make(chan page, 1)
	go func() { ready <- a.stepsPage(ctx, want) }()
	late := time.NewTimer(a.o.Defer)
	defer late.Stop()
	select {
	case p := <-ready:
		if want.Kind == layout.PageButton {
			p.Flags = 0
			return a.respond(ctx, in, answerChange, p)
		}
		return a.respond(ctx, in, answerMessage, p)
	case <-late.C:
	}
	if err := a.promise(ctx, in, want.Kind == layout.PageButton); err != nil {
		return err
	}
	return a.fulfil(ctx, in, <-ready)
}

// promise answers that an answer will come.
func (a *Adapter) promise(ctx context.Context, in api.Interaction, change bool) error {
	if change {
		return a.respond(ctx, in, promiseToChange, nil)
	}
	return a.respond(ctx, in, answerPromise, map[string]any{"flags": discordgo.MessageFlagsEphemeral})
}

func (a *Adapter) stepsPage(ctx context.Context, want layout.Shows) page {
	ans, err := a.Click(ctx, front.Click{Verb: front.Show, Thread: api.ThreadID(want.Place), Turn: want.Turn})
	if err != nil {
		a.log.Warn("show the steps", "error", err)
		return newPage(front.Away)
	}
	if ans.Steps == nil {
		return newPage(ans.Alone)
	}
	pages := layout.StepsPages(*ans.Steps)
	n := min(want.Page, len(pages)-1)
	out := newPage(pages[n])
	out.Components = rerunRows(want.Place, ans.Steps)
	if len(pages) == 1 {
		return out
	}
	out.Content += fmt.Sprintf("\n-# page %d of %d", n+1, len(pages))
	var row discordgo.ActionsRow
	turnTo := func(label string, to int) {
		id := layout.Shows{Kind: layout.PageButton, Place: want.Place, Turn: want.Turn, Page: to}.ID()
		if to >= 0 && to < len(pages) && id != "" {
			row.Components = append(row.Components, discordgo.Button{Label: label, Style: discordgo.SecondaryButton, CustomID: id})
		}
	}
	turnTo("◀ Back", n-1)
	turnTo("Next ▶", n+1)
	if len(row.Components) > 0 {
		out.Components = append(out.Components, row)
	}
	return out
}

// Below the opened steps, which one reader alone sees, each call that can be gone on with
// has a button that opens a form with its arguments.

// A message has 25 buttons in five rows, one of which turns pages.
const (
	mostReruns = 20
	mostInRow  = 5
)

// rerunRows are the buttons of the calls of a turn that can be run again, the newest
// ones that there is room for.
func rerunRows(p api.Place, s *chat.Steps) []any {
	var buttons []discordgo.MessageComponent
	for _, c := range front.Reruns(s, func(c chat.ToolCall) bool { return c.Again }) {
		if id := idOf(rerunButton, front.Click{Thread: api.ThreadID(p), Call: c.Call}); id != "" {
			buttons = append(buttons, discordgo.Button{Label: dialect.Shorten(c.Label, 80), Style: discordgo.SecondaryButton, CustomID: id})
		}
	}
	buttons = buttons[max(0, len(buttons)-mostReruns):]
	rows := []any{}
	for row := range slices.Chunk(buttons, mostInRow) {
		rows = append(rows, discordgo.ActionsRow{Components: row})
	}
	return rows
}
