package layout

import (
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
)

// An answer that stands in the place of an earlier one has that folded under it, in a
// container as the steps are. Where the workspace refuses that, or the message has no
// room left, it is linked, as it is where only text goes.

// leastEarlier is how much room a message must have left to fold anything.
const leastEarlier = 500

// Folding gives the messages of an answer another form, the first to be tried: with
// the earlier answer folded under it. linked are the messages that link it.
func Folding(linked, bare []Part, t *chat.Text, to string) []Part {
	last := len(bare) - 1
	if t.Earlier == nil || last < 0 || len(linked) != len(bare) || len(bare[last][0].Blocks) == 0 {
		return linked
	}
	box := EarlierBox(t.Earlier, MostReply-lengthOf(bare[last][0].Blocks), to)
	if box == nil {
		return linked
	}
	f := bare[last][0]
	under := f.under
	f.Shape, f.under = "folded answer", func(answer string) []slackgo.Block {
		if under == nil {
			return []slackgo.Block{box}
		}
		return append(under(answer), box)
	}
	linked[last] = slices.Insert(linked[last], 0, f)
	return linked
}

// EarlierBox is the earlier answer as it stands folded, or so much of it as there is
// room for; nil where that is nothing.
func EarlierBox(e *chat.Earlier, room int, to string) slackgo.Block {
	var text string
	if room >= leastEarlier {
		text = markdown.Styled(markdown.Bare(Harmless(strings.ToValidUTF8(e.Markdown, "\uFFFD"))), style)
	}
	all := Pieces(text, min(MostSection, room))
	var children []slackgo.Block
	for _, piece := range all {
		if room -= markdown.UTF16(piece); room < 0 || len(children) == mostChildren-1 {
			break
		}
		children = append(children, Section(piece))
	}
	if len(children) == 0 {
		return nil
	}
	where := "Where it stands"
	if len(children) < len(all) {
		where = "It goes on where it stands"
	}
	if to != "" {
		where = style.Link(where, to)
	}
	if to != "" || len(children) < len(all) {
		children = append(children, slackgo.NewContextBlock("", Mrkdwn(where)))
	}
	return slackgo.NewContainerBlock(children...).WithTitle(PlainText(e.Title())).WithCollapsible(true, true)
}

// lengthOf is how much text blocks hold.
func lengthOf(blocks []slackgo.Block) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *slackgo.MarkdownBlock:
			n += markdown.UTF16(b.Text)
		case *slackgo.SectionBlock:
			n += markdown.UTF16(b.Text.Text)
		case *slackgo.ContainerBlock:
			n += lengthOf(b.ChildBlocks.BlockSet)
		}
	}
	return n
}
