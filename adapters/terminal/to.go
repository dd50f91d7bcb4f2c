package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"

	"nod/chat"
	"nod/chat/summary"
)

// ink is how a line looks where there is colour.
type ink int

const (
	plain ink = iota
	dim
	strong
	green  // a thought
	cyan   // a tool at work
	yellow // an answer
)

var styles = map[ink]lipgloss.Style{
	dim:    lipgloss.NewStyle().Faint(true),
	strong: lipgloss.NewStyle().Bold(true),
	green:  lipgloss.NewStyle().Foreground(lipgloss.Green),
	cyan:   lipgloss.NewStyle().Foreground(lipgloss.Cyan),
	yellow: lipgloss.NewStyle().Foreground(lipgloss.Yellow),
}

// row is one line of output, without its end and without escapes.
type row struct {
	text string
	ink  ink
}

// paint gives the row as it is written.
func (r row) paint(color bool) string {
	style, ok := styles[r.ink]
	if !color || !ok || r.text == "" {
		return r.text
	}
	return style.TabWidth(lipgloss.NoTabConversion).Render(r.text)
}

// labelled makes the rows of a label and a text from outside. Text of several
// lines stands below its label, indented, so that nothing from outside ever
// begins a line: what begins one is the program's own word.
func labelled(label, text string, i ink) []row {
	lines := strings.Split(strings.Trim(clean(text), "\n"), "\n")
	if len(lines) == 1 {
		return []row{{strings.TrimRight(label+" "+lines[0], " "), i}}
	}
	rows := []row{{label, i}}
	for _, l := range lines {
		rows = append(rows, row{strings.TrimRight("  "+l, " "), i})
	}
	return rows
}

// aside makes the row of something that the adapter says itself.
func aside(text string) []row { return []row{{"(" + cleanLine(text) + ")", dim}} }

// textRows shows an answer or a notice; its Markdown is readable as it is.
func textRows(t *chat.Text) []row {
	if t.Notice {
		return labelled("nod:", t.Markdown, plain)
	}
	return labelled("Answer:", t.Markdown, yellow)
}

// stepRows shows all that is settled of a turn, in an order that depends on
// nothing else: the rows of a later version continue those of an earlier one.
// So the observations of calls made at once come in the order of the calls,
// and a call that takes long holds back those after it. Each element is shown
// whole or not at all.
func stepRows(s *chat.Steps) [][]row {
	var out [][]row
	for i, item := range s.Items {
		settled := s.Done || i < len(s.Items)-1
		if !settled && len(item.Calls) == 0 {
			return out
		}
		if item.Thought != "" {
			out = append(out, labelled("Thought:", item.Thought, green))
		}
		for _, c := range item.Calls {
			out = append(out, labelled("Action: "+cleanLine(c.Tool), chat.Exact(c.Args), cyan))
		}
		for _, c := range item.Calls {
			if !settled && !final(c) {
				return out
			}
			out = append(out, labelled("Observation:", observed(c), plain))
		}
	}
	if s.Done && len(s.Items) > 0 {
		out = append(out, []row{fold(s)})
	}
	return out
}

func observed(c chat.ToolCall) string {
	if strings.TrimSpace(c.Observation) == "" {
		return "(" + string(c.State) + ")"
	}
	return c.Observation
}

// final says whether nothing more is to be heard of a call. One that was denied a
// moment ago may still be told why.
func final(c chat.ToolCall) bool {
	switch c.State {
	case chat.CallPlanned, chat.CallAsking, chat.CallRunning:
		return false
	case chat.CallDenied:
		return c.Observation != ""
	}
	return true
}

// fold is the one line that stays of a turn's steps.
func fold(s *chat.Steps) row {
	return row{"▸ " + summary.Folded(s, cleanLine) + "  (type steps to open)", dim}
}

// liveRows shows the step that a turn is at, in a few rows.
func liveRows(s *chat.Steps) []row {
	const calls = 4
	head := "▾ " + cleanLine(s.Status)
	if len(s.Items) == 0 {
		return []row{{head, dim}}
	}
	item := s.Items[len(s.Items)-1]
	rows := []row{{fmt.Sprintf("▾ step %d %s", len(s.Items), cleanLine(s.Status)), dim}}
	if item.Thought != "" {
		rows = append(rows, row{"Thought: " + cleanLine(item.Thought), green})
	}
	var running []row
	for _, c := range item.Calls {
		if !final(c) {
			running = append(running, row{"Action: " + cleanLine(c.Tool) + " " + cleanLine(chat.Exact(c.Args)), cyan})
		}
	}
	if more := len(running) - calls; more > 0 {
		running = append(running[:calls], row{fmt.Sprintf("  and %d more", more), cyan})
	}
	return append(rows, running...)
}

// asked is how an approval begins, by its number in the thread where it has one.
func asked(number int, tool string) string {
	if number == 0 {
		return "Approval: " + exactLine(tool)
	}
	return fmt.Sprintf("Approval %d: %s", number, exactLine(tool))
}

// askRows shows an approval that waits.
func askRows(a *ask, now time.Time) []row {
	w := a.want
	rows := labelled(asked(a.number, w.Tool), chat.Exact(w.Args), strong)
	rows = append(rows, previewRows(w.Preview)...)
	rows = append(rows, row{"  " + summary.Terms(&w, now, exactLine), plain})
	for _, why := range w.Because() {
		rows = append(rows, row{"  " + exactLine(why), plain})
	}
	rows = append(rows, row{"  " + howTo(a), plain})
	if word := w.GrantWord(); word != "" && !chat.NeedsCode(w.Ways) {
		rows = append(rows, row{"  " + word + " approves it, and the same call again for so long", plain})
	}
	return rows
}

// previewRows shows what a call would do.
func previewRows(p *chat.Preview) []row {
	if p == nil {
		return nil
	}
	out := []row{{"  " + exactLine(p.Title()), plain}}
	if p.Text == "" {
		return out
	}
	for l := range strings.SplitSeq(clean(chat.Exact(p.Text)), "\n") {
		out = append(out, row{strings.TrimRight("  | "+l, " "), plain})
	}
	return out
}

// howTo says how an approval is answered.
func howTo(a *ask) string {
	if chat.NeedsCode(a.want.Ways) {
		return fmt.Sprintf("answer y %d, and then your code when it is asked for; n %d (%s) denies; n %d and why", a.number, a.number, cleanLine(strings.Join(a.want.Deny, " ")), a.number)
	}
	return fmt.Sprintf("answer y or n (%s / %s); y %d or n %d while several wait; n %d and why",
		cleanLine(strings.Join(a.want.Approve, " ")), cleanLine(strings.Join(a.want.Deny, " ")), a.number, a.number, a.number)
}

// outcomeRow says what came of an approval, or how far it is. The number is
// given while others wait.
func outcomeRow(w *chat.Approval, number int) row {
	s := verdict(w)
	if number > 0 {
		s += fmt.Sprintf(" · approval %d", number)
	}
	return row{s, strong}
}

// verdict is how far an approval is: its headline once it is decided, as on every
// platform.
func verdict(w *chat.Approval) string {
	if w.Outcome != "" {
		return exactLine(w.Headline)
	}
	return cmp.Or(summary.SoFar(w, names(w.By)), fmt.Sprintf("0 of %d approved", w.Quorum))
}

func names(users []chat.User) string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = exactLine(u.Display())
	}
	return strings.Join(out, ", ")
}

// pastRows shows a line of the conversation before this start, dimly.
func (a *Adapter) pastRows(l chat.Line) []row {
	var rows []row
	switch {
	case l.Message != nil:
		rows = labelled(cleanLine(l.Message.From.Display())+":", l.Message.Text, dim)
	case l.Post.Text != nil:
		rows = textRows(l.Post.Text)
	case l.Post.File != nil:
		rows = a.keptAt(l.Post)
	case l.Post.Steps != nil && len(l.Post.Steps.Items) > 0:
		rows = []row{fold(l.Post.Steps)}
	case l.Post.Approval != nil:
		w := l.Post.Approval
		rows = append(labelled(asked(w.Number, w.Tool), chat.Exact(w.Args), dim), outcomeRow(w, 0))
	}
	for i := range rows {
		rows[i].ink = dim
	}
	return rows
}

// clean makes a text from outside harmless on a terminal: no control
// characters but line ends and tabs (an escape sequence begins with one, or
// with its 8-bit form), and nothing that turns the direction of writing, by
// which a text can be made to look like another.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r), turns(r):
			return -1
		}
		return r
	}, s)
}

// turns says whether a character changes the direction of what follows it.
func turns(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// cleanLine is clean for what has to stay in one line.
func cleanLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// exactLine is a line of an approval: what clean would take out is written out.
func exactLine(s string) string { return cleanLine(chat.Exact(s)) }

// tabStop is how far the stops of a terminal's tabs are apart.
const tabStop = 8

// untabbed writes the spaces that a terminal makes of tabs. A row with tabs is wider than
// it is counted to be, and what of it does not fit would begin a line of its own.
func untabbed(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	at := 0
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			gap := tabStop - at%tabStop
			b.WriteString(strings.Repeat(" ", gap))
			at += gap
		}
		b.WriteString(part)
		at += lipgloss.Width(part)
	}
	return b.String()
}

// cut shortens a row to so many cells.
func cut(r row, width int) row {
	r.text = untabbed(r.text)
	if width < 1 || lipgloss.Width(r.text) <= width {
		return r
	}
	r.text = lipgloss.NewStyle().MaxWidth(width-1).Render(r.text) + "…"
	return r
}

// indent begins what of a row does not fit its first line, so that nothing from
// outside ever begins one.
const indent = "  "

// wrap breaks a row between words where it is wider than a screen.
func wrap(r row, width int) []row {
	r.text = untabbed(r.text)
	if width < 20 || lipgloss.Width(r.text) <= width {
		return []row{r}
	}
	lead := r.text[:len(r.text)-len(strings.TrimLeft(r.text, " "))]
	text := strings.TrimLeft(r.text, " ")
	if len(lead) > width/2 {
		lead = ""
	}
	var out []row
	for i, line := range strings.Split(lipgloss.Wrap(text, width-len(lead)-len(indent), ""), "\n") {
		begin := lead + indent
		if i == 0 {
			begin = lead
		}
		out = append(out, row{begin + strings.TrimRight(line, " "), r.ink})
	}
	return out
}

// flat joins the elements of stepRows.
func flat(groups [][]row) []row { return slices.Concat(groups...) }
