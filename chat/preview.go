package chat

// Preview is the output of a program that describes a call's effect and changes
// nothing.
type Preview struct {
	Text   string `json:"text,omitempty"`
	Err    string `json:"err,omitempty"`    // why it came to nothing
	Marked bool   `json:"marked,omitempty"` // Text marks the changed lines
}

// Title is a heading for the text.
func (p *Preview) Title() string {
	switch {
	case p.Err != "":
		return "The preview failed: " + p.Err
	case p.Marked:
		return "Preview, and what changed in it (- gone, + new):"
	case p.Text == "":
		return "The preview wrote nothing."
	}
	return "Preview:"
}
