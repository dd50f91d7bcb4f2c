package chat

import (
	"regexp"
	"slices"
)

// Way is how a person gives a decision.
type Way string

// The ways. A program can put a reaction, or write a word, in a person's name; no API
// clicks a button.
const (
	ByReaction Way = "reaction" // the empty Way is this one too
	ByButton   Way = "button"
	ByWord     Way = "word"
	// ByCode is a click and the right code of a second factor. Where it approves, nothing
	// else does.
	ByCode Way = "code"
)

// Approves says whether a way is one of those that approve; where none is named, all do.
func (w Way) Approves(ways []Way) bool {
	if w == "" {
		w = ByReaction
	}
	return len(ways) == 0 || slices.Contains(ways, w)
}

// NeedsCode says whether only a code approves.
func NeedsCode(ways []Way) bool { return slices.Contains(ways, ByCode) }

// Code is what a person sends with the form that asks for their code. Its digits are in
// no entry and no log.
type Code struct {
	Call   string
	By     User
	Digest string // how the digest begins of the arguments in that form
	Digits string // "": only whether a form can be opened
	Grant  *Grant
}

// withCode matches a word that approves, with the six digits of a code behind it.
var withCode = regexp.MustCompile(`^(?i)\s*((?:y|yes|allow)(?:\s+\d{1,4})?)\s+\d{3}\s?\d{3}\s*$`)

// WithoutCode takes away the code that somebody wrote behind a word, so that nobody keeps
// it; ok says that there was one.
func WithoutCode(text string) (word string, ok bool) {
	if m := withCode.FindStringSubmatch(text); m != nil {
		return m[1], true
	}
	return text, false
}
