package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	forms "nod/chat/form"
	"nod/chat/outbox"
	"nod/chat/summary"
)

// showSteps shows the steps of a turn, whole, to the person who clicked: their end in a
// window, or another page in the window with the button. The value of that names the
// thread, the turn and the page.
func (a *Adapter) showSteps(ctx context.Context, in api.Interaction, s chat.Steps) error {
	parts := strings.Split(in.Actions[0].Value, " ")
	pages, value := stepPages(parts[0], s), strings.Join(parts[:2], " ")
	if len(parts) == 2 {
		return a.show(ctx, "views.open", url.Values{"trigger_id": {in.TriggerID}}, stepsWindow(value, pages, len(pages)-1), outbox.Approval)
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return api.Malformed("page", err)
	}
	return a.show(ctx, "views.update", url.Values{"view_id": {in.View.ID}}, stepsWindow(value, pages, n), outbox.Approval)
}

// The buttons of a window with several pages.
const (
	olderID = "nod_older"
	newerID = "nod_newer"
)

func (a *Adapter) show(ctx context.Context, method string, args url.Values, view any, p outbox.Priority) error {
	raw, err := json.Marshal(view)
	if err != nil {
		return fmt.Errorf("write a view: %w", err)
	}
	args.Set("view", string(raw))
	return a.web.Call(ctx, api.Request{Method: method, Args: args, Priority: p})
}

func stepsWindow(value string, pages [][]slackgo.Block, n int) slackgo.ModalViewRequest {
	n = max(0, min(n, len(pages)-1))
	blocks := pages[n]
	if len(pages) > 1 {
		var turn []slackgo.BlockElement
		if n > 0 {
			turn = append(turn, slackgo.NewButtonBlockElement(olderID, fmt.Sprint(value, " ", n-1), layout.PlainText("Older")))
		}
		if n+1 < len(pages) {
			turn = append(turn, slackgo.NewButtonBlockElement(newerID, fmt.Sprint(value, " ", n+1), layout.PlainText("Newer")))
		}
		place := slackgo.NewContextBlock("", layout.Mrkdwn(fmt.Sprintf("page %d of %d", n+1, len(pages))))
		blocks = append(slices.Clone(blocks), place, slackgo.NewActionBlock("", turn...))
	}
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: stepsView, Title: layout.PlainText("Steps"), Close: layout.PlainText("Close"), Blocks: slackgo.Blocks{BlockSet: blocks},
	}
}

// Caps of a page: blocks, and bytes of what is in them. Slack takes 100 and
// 250,000.
const (
	mostOnPage    = layout.MostModal - 6
	mostPageBytes = 150_000
)

// stepPages writes steps of a thread whole, on as many pages as it takes.
func stepPages(thread string, s chat.Steps) [][]slackgo.Block {
	page := []slackgo.Block{layout.Section(summary.Lines("*"+layout.Escape(layout.StepsTitle(&s))+"*", layout.Escape(summary.Spent(&s))))}
	var pages [][]slackgo.Block
	size := 0
	add := func(label, text string) {
		for i, p := range layout.Pieces(chat.Visible(text), layout.MostSection) {
			cost := 2*len(p) + 400 // JSON escapes, and the block itself
			if len(page) >= mostOnPage || size+cost > mostPageBytes {
				pages, page, size = append(pages, page), nil, 0
			}
			head := label
			if i > 0 {
				head += ", further"
			}
			size += cost
			page = append(page, slackgo.NewRichTextBlock("",
				slackgo.NewRichTextSection(slackgo.NewRichTextSectionTextElement(head, &slackgo.RichTextSectionTextStyle{Bold: true})),
				&slackgo.RichTextPreformatted{Type: slackgo.RTEPreformatted, Elements: []slackgo.RichTextSectionElement{slackgo.NewRichTextSectionTextElement(p, nil)}}))
		}
	}
	for _, item := range s.Items {
		add("Thought", item.Thought)
		for _, c := range item.Calls {
			add("Action "+layout.Shorten(chat.Flat(c.Tool), 100), cmp.Or(strings.TrimSpace(c.Args), "{}"))
			add("Observation ("+string(c.State)+")", c.Observation)
			if value := layout.ValueOf(thread, c.ID); c.Again && thread != "" && value != "" {
				page = append(page, slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(layout.AgainID, value, layout.PlainText(forms.AgainLabel))))
			}
		}
	}
	return append(pages, page)
}
