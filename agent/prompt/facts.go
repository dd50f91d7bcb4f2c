package prompt

import (
	"fmt"
	"strings"

	"nod/agent/phrase"
	"nod/memory"
)

// facts are the facts of the channel that the log says are shown, in their order.
func (w Writer) facts() string {
	if len(w.Thread.Facts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n" + textFacts)
	for _, ref := range w.Thread.Facts {
		line := fmt.Sprintf("%d: %s", ref.Number, memory.Forgotten)
		if w.Book != nil {
			if f := w.Book.Fact(ref.Number, ref.Name); f != nil {
				line = FactLine(*f)
			}
		}
		b.WriteString("\n- " + line)
	}
	return b.String()
}

// FactLine is a fact with its number, author and day.
func FactLine(f memory.Fact) string {
	line := fmt.Sprintf("%d: %q (%s, %s)", f.Number, phrase.OneLine(f.Text), phrase.Name(f.By), f.At.UTC().Format("2 January 2006"))
	if f.Source != "" {
		line += ", written down when the model had seen " + f.Source
	}
	return line
}
