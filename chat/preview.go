package chat

// Preview is what a program wrote that says what a call would do, and changes
// nothing.
type Preview struct {
	Text   string `json:"text,omitempty"`
	Err    string `json:"err,omitempty"`    // why it came to nothing
	Marked bool   `json:"marked,omitempty"` // Text marks, line by line, what changed since it was shown last
}

// Title says in one line what the text is.
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
