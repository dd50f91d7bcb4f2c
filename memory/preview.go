package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"nod/chat"
)

// Previewed is what the preview of a call came to: what its program wrote, or in
// Err why it came to nothing. It changed nothing, so that it is simply run again
// where nobody knows what it came to.
type Previewed struct {
	Call string        `json:"call"`
	Of   string        `json:"of"`  // digest of the tool and the arguments that it was run with
	Sum  string        `json:"sum"` // digest of Text and Err: what an approval is bound to
	Text string        `json:"text,omitempty"`
	Err  string        `json:"err,omitempty"`
	File chat.File     `json:"file,omitzero"` // the text, where it is too long for a card
	Took time.Duration `json:"took,omitempty"`
}

// Kind implements Body.
func (Previewed) Kind() string { return "previewed" }

// PreviewSum is the digest of what a preview came to.
func PreviewSum(text, err string) string {
	sum := sha256.Sum256([]byte(err + "\x00" + text))
	return hex.EncodeToString(sum[:])
}
