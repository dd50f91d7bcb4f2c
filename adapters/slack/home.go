package slack

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// The app's Home tab shows a person what concerns them: approvals that wait for them, what
// of today's limits is used, the facts of their direct conversation and its tools. It is
// written anew whenever they open it, and says of when it is.

// homeTab is the tab that the bot writes; the others are Slack's.
const homeTab = "home"

// opened shows somebody their Home tab, after Slack was told that the event was
// received: it shows something, and what takes long to find out must not have it
// delivered again.
func (a *Adapter) opened(ctx context.Context, ev api.Event) {
	if ev.Tab != homeTab || ev.User == "" {
		return
	}
	a.lanes.Run(ctx, "home:"+ev.User, api.CallTimeout, func(ctx context.Context) {
		if err := a.publish(ctx, ev); err != nil {
			a.log.Warn("show somebody their home tab", "error", err)
		}
	})
}

// publish writes somebody's Home tab. A person who is not heard gets none.
func (a *Adapter) publish(ctx context.Context, ev api.Event) error {
	visit, heard, err := a.visit(ctx, ev.User, ev.Channel)
	if err != nil || !heard {
		return err
	}
	if ok, err := a.allowed(ctx, ev.User, ev.Channel); err != nil || !ok {
		return err
	}
	if direct := api.ThreadID(a.who().TeamID, ev.Channel, ""); a.Partner(ctx, direct) == visit.Who.ID {
		visit.Direct = direct
	}
	h, err := a.o.Inbox.Home(ctx, Platform, visit)
	if err != nil {
		return err
	}
	return a.show(ctx, "views.publish", url.Values{"user_id": {ev.User}}, homeView(h, a.who().URL, a.o.Now()), outbox.Answer)
}

// visit is what somebody sees, from a channel; heard is false for those who are not
// listened to.
func (a *Adapter) visit(ctx context.Context, user, channel string) (v chat.Visit, heard bool, err error) {
	k, err := a.user(ctx, user)
	if err != nil {
		return v, false, fmt.Errorf("look up who it is: %w", err)
	}
	return chat.Visit{
		Who: k.User, Sees: a.sight(ctx, user, channel),
		Member: func(ctx context.Context, _ chat.ThreadID, rule string) (bool, error) { // as of a moment ago: it decides nothing
			id, ok := strings.CutPrefix(rule, "group:")
			if !ok {
				return false, nil
			}
			users, err := a.members(ctx, id)
			return slices.Contains(users, user), err
		},
		Link: func(thread chat.ThreadID, ref chat.MessageRef) string { return a.Link(ctx, thread, ref) },
	}, k.heard, nil
}

// Visit is what somebody sees who writes in a thread.
func (a *Adapter) Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error) {
	v, heard, err := a.visit(ctx, string(who.ID), api.ChannelOf(thread.Channel))
	if err == nil && !heard {
		v.Sees = func(chat.ThreadID) bool { return false }
	}
	return v, err
}

// sight says which threads somebody sees: those of their conversation with the
// bot, if that is where they look from, and of the channels that they are in. Which these are is asked at the
// first thread elsewhere; when Slack does not say, they see none.
func (a *Adapter) sight(ctx context.Context, user, from string) func(chat.ThreadID) bool {
	in := sync.OnceValue(func() map[string]bool {
		ids, err := a.conversations(ctx, url.Values{"user": {user}, "types": {"public_channel,private_channel,mpim"}}, mostMemberships)
		if err != nil {
			a.log.Warn("list the channels of a person", "error", err)
			return nil
		}
		all := map[string]bool{}
		for _, id := range ids {
			all[id] = true
		}
		return all
	})
	return func(thread chat.ThreadID) bool {
		channel := api.ChannelOf(thread.Channel)
		if !api.IsDM(channel) && !in()[channel] || api.IsDM(channel) && channel != from {
			return false
		}
		ok, err := a.allowed(ctx, user, channel)
		return ok && err == nil
	}
}

// mostMemberships is of how many channels of a person approvals are shown.
const mostMemberships = 2000

// Caps of the tools and facts on the tab, and of those in one block; Slack takes 100
// blocks.
const (
	mostTools     = 200
	mostFacts     = 50
	linesOfABlock = 10
)

// homeView writes the Home tab.
func homeView(h chat.Home, workspace string, now time.Time) slackgo.HomeTabViewRequest {
	return slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: homeBlocks(h, workspace, now)}}
}

func homeBlocks(h chat.Home, workspace string, now time.Time) []slackgo.Block {
	title := func(s string) slackgo.Block { return slackgo.NewHeaderBlock(layout.PlainText(s)) }
	out := []slackgo.Block{title("Approvals that wait for you")}
	for _, w := range h.Waiting {
		out = append(out, layout.Section(waitsLine(w, workspace)))
	}
	switch {
	case len(h.Waiting) == 0:
		out = append(out, layout.Section("None."))
	case h.Further > 0:
		out = append(out, slackgo.NewContextBlock("", layout.Mrkdwn(fmt.Sprintf("and %d more", h.Further))))
	}
	if rest := h.Rest(); rest != "" {
		out = append(out, slackgo.NewContextBlock("", layout.Mrkdwn(rest)))
	}
	out = append(out, title("Your limits today"))
	for _, l := range h.Limits {
		out = append(out, layout.Section(fmt.Sprintf("%s of %s used of %s", layout.Escape(l.Used), layout.Escape(l.Most), layout.Escape(l.Of))))
	}
	if len(h.Limits) == 0 {
		out = append(out, layout.Section("There are none."))
	}
	if len(h.Facts) > 0 {
		out = list(append(out, title("Facts of our conversation")), h.Facts, mostFacts, func(fact string) slackgo.RichTextElement {
			return slackgo.NewRichTextSection(slackgo.NewRichTextSectionTextElement(layout.Shorten(chat.Visible(chat.Flat(fact)), 400), nil))
		})
	}
	out = list(append(out, title("Tools")), h.Tools, mostTools, offer)
	if len(h.Tools) == 0 {
		out = append(out, layout.Section("There are none."))
	}
	return append(out, slackgo.NewContextBlock("", layout.Mrkdwn("as of "+layout.ShownAt(now)+"; opening this tab writes it anew")))
}

// list adds lines, and how many more there are. Texts in them are no markup.
func list[T any](out []slackgo.Block, all []T, most int, line func(T) slackgo.RichTextElement) []slackgo.Block {
	for some := range slices.Chunk(all[:min(len(all), most)], linesOfABlock) {
		var lines []slackgo.RichTextElement
		for _, l := range some {
			lines = append(lines, line(l))
		}
		out = append(out, slackgo.NewRichTextBlock("", slackgo.NewRichTextList(slackgo.RTEListBullet, 0, lines...)))
	}
	if len(all) > most {
		out = append(out, slackgo.NewContextBlock("", layout.Mrkdwn(fmt.Sprintf("and %d more", len(all)-most))))
	}
	return out
}

// offer is a tool, as it tells of itself.
func offer(t chat.Offer) slackgo.RichTextElement {
	return slackgo.NewRichTextSection(
		slackgo.NewRichTextSectionTextElement(layout.Shorten(chat.Flat(t.Name), 100), &slackgo.RichTextSectionTextStyle{Code: true}),
		slackgo.NewRichTextSectionTextElement(" "+layout.Shorten(chat.Exact(chat.Flat(t.About)), 200)+" ", nil),
		slackgo.NewRichTextSectionTextElement(layout.Shorten(chat.Flat(t.Risk), 200), &slackgo.RichTextSectionTextStyle{Italic: true}),
	)
}

// waitsLine writes an approval that waits, with the way to it.
func waitsLine(w chat.Waits, workspace string) string {
	where := "in <#" + api.ChannelOf(w.Thread.Channel) + ">"
	if api.IsDM(api.ChannelOf(w.Thread.Channel)) {
		where = "in our conversation"
	}
	line := fmt.Sprintf("*Approval %d:* %s · %s · asked by %s", w.Number, layout.InlineCode(layout.Shorten(w.Tool, 100)), where, layout.Person(w.Requester))
	if !w.Deadline.IsZero() {
		line += " · until " + layout.ShownAt(w.Deadline)
	}
	if workspace != "" {
		line += " · <" + layout.Escape(layout.Permalink(workspace, w.Thread, w.Ref)) + "|Open>"
	}
	return line
}

// Link is the address of a message, where the workspace's is known.
func (a *Adapter) Link(_ context.Context, thread chat.ThreadID, ref chat.MessageRef) string {
	workspace := a.who().URL
	if workspace == "" {
		return ""
	}
	return layout.Permalink(workspace, thread, ref)
}
