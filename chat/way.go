package chat

import "slices"

// Way is how a person gives a decision.
type Way string

// The ways. A program can put a reaction, or write a word, in a person's name; no API
// clicks a button.
const (
	ByReaction Way = "reaction" // the empty Way is this one too
	ByButton   Way = "button"
	ByWord     Way = "word"
)

// Approves says whether a way is one of those that approve; where none is named, all do.
func (w Way) Approves(ways []Way) bool {
	if w == "" {
		w = ByReaction
	}
	return len(ways) == 0 || slices.Contains(ways, w)
}
