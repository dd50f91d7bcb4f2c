package slack

import (
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
)

// Caps of a table block
// (https://docs.slack.dev/reference/block-kit/blocks/table-block).
const (
	mostRows    = 100
	mostColumns = 20
	mostCells   = 9000 // characters of all cells
)

// mostReply is what a message of an answer has: less than all blocks of one may
// have together.
const mostReply = 10_000

// answerParts writes an answer or a notice as so many messages as it takes.
// Slack draws most of CommonMark itself, in markdown blocks.
func answerParts(t *chat.Text) []part {
	md := harmless(strings.ToValidUTF8(t.Markdown, "\uFFFD"))
	var out []part
	for _, src := range markdown.Split(md, mostReply, markdown.UTF16) {
		out = append(out, answerPart(src))
	}
	if len(out) == 0 {
		out = append(out, part{{text: "(no text)"}})
	}
	return out
}

// answerPart writes one message: rich, as plain sections, as text alone.
func answerPart(src string) part {
	plain := escape(markdown.Plain(src))
	return part{
		{blocks: richBlocks(src), text: shorten(plain, mostFallback)},
		{blocks: plainSections(src), text: shorten(plain, mostFallback)},
		{text: plain},
	}
}

// richBlocks draws Markdown. A message takes one table block; any further
// table becomes code with aligned columns.
func richBlocks(src string) []slackgo.Block {
	var out []slackgo.Block
	var run []string
	size := 0
	flush := func() {
		if md := strings.Join(run, "\n\n"); md != "" {
			out = append(out, slackgo.NewMarkdownBlock("", md))
		}
		run = nil
	}
	drawn := false
	for _, b := range markdown.Blocks(src) {
		text := src[b.Start:b.End]
		if b.Kind == markdown.Table && b.Grid != nil {
			if !drawn && tableFits(b.Grid) && len(out)+4 < mostBlocks {
				flush()
				out = append(out, table(b.Grid))
				drawn = true
				continue
			}
			if code := markdown.Fence("", markdown.AlignedTable(b.Grid)); units(src)-units(text)+units(code) < mostMarkdown-size {
				size += units(code) - units(text)
				text = code
			}
		}
		run = append(run, text)
	}
	flush()
	return out
}

func tableFits(g *markdown.Grid) bool {
	n := 0
	for _, row := range append([][]string{g.Header}, g.Rows...) {
		for _, cell := range row {
			n += units(cell)
		}
	}
	return len(g.Rows)+1 <= mostRows && len(g.Header) > 0 && len(g.Header) <= mostColumns && n <= mostCells
}

func table(g *markdown.Grid) slackgo.Block {
	rows := [][]slackgo.TableCell{nil}
	for _, h := range g.Header {
		bold := &slackgo.RichTextSectionTextStyle{Bold: true}
		rows[0] = append(rows[0], slackgo.NewTableRichTextCell(
			slackgo.NewRichTextSection(slackgo.NewRichTextSectionTextElement(cell(h), bold))))
	}
	for _, r := range g.Rows {
		var row []slackgo.TableCell
		for _, c := range r {
			row = append(row, slackgo.NewTableRawTextCell(cell(c)))
		}
		rows = append(rows, row)
	}
	block := slackgo.TableBlock{Type: slackgo.MBTTable, Rows: rows}
	for _, side := range g.Align {
		set := slackgo.ColumnSetting{IsWrapped: true}
		switch side {
		case markdown.Right:
			set.Align = slackgo.ColumnAlignmentRight
		case markdown.Center:
			set.Align = slackgo.ColumnAlignmentCenter
		default:
			set.Align = slackgo.ColumnAlignmentLeft
		}
		block.ColumnSettings = append(block.ColumnSettings, set)
	}
	return block
}

// cell is the text of a table's cell; Slack takes no empty one.
func cell(s string) string {
	if s = flat(markdown.Plain(s)); s != "" {
		return s
	}
	return " "
}

// plainSections shows text without markup, unfolded.
func plainSections(src string) []slackgo.Block {
	var out []slackgo.Block
	for _, piece := range pieces(markdown.Plain(src), mostSection) {
		out = append(out, slackgo.NewSectionBlock(plainText(piece), nil, nil, slackgo.SectionBlockOptionExpand(true)))
	}
	return out
}

// pieces cuts text into lines' lengths of at most so many units.
func pieces(s string, most int) []string {
	var out []string
	for s = strings.TrimSpace(s); units(s) > most; {
		cut, n, line := len(s), 0, 0
		for i, r := range s {
			if r > 0xFFFF {
				n++
			}
			if n++; n > most {
				cut = i
				break
			}
			if r == '\n' {
				line = i + 1
			}
		}
		if line > 0 && line > cut/2 {
			cut = line
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
