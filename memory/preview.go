package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"nod/chat"
)

// Previewed is the result of a call's preview: the program's output, or in Err the
// failure. A preview changes nothing, so it simply runs again if its result is lost.
type Previewed struct {
	Call string        `json:"call"`
	Of   string        `json:"of"`  // digest of its tool and arguments
	Sum  string        `json:"sum"` // digest of Text and Err: the approval binds it
	Text string        `json:"text,omitempty"`
	Err  string        `json:"err,omitempty"`
	File chat.File     `json:"file,omitzero"` // the text, where it is too long for a card
	Took time.Duration `json:"took,omitempty"`
}

// PreviewSum is the digest of a preview's result.
func PreviewSum(text, err string) string {
	sum := sha256.Sum256([]byte(err + "\x00" + text))
	return hex.EncodeToString(sum[:])
}
