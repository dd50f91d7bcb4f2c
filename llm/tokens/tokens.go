// Package tokens counts tokens as a model's tokenizer does: a text is cut into
// pieces, and the bytes of a piece are merged into tokens by a table. The table is
// made ready at the first count, which takes some milliseconds. It imports nothing
// of nod.
package tokens

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Counter counts for one model. It is safe for concurrent use and remembers
// its latest counts, since a prompt is counted again at every call.
type Counter struct {
	share float64 // tokens of the model for one of the table

	mu    sync.Mutex
	known map[string]int
	bytes int
}

// unknownShare is the surcharge for an unknown tokenizer.
const unknownShare = 1.1

// cacheBytes bounds the texts that are remembered.
const cacheBytes = 4 << 20

// New returns a counter for the model of that name.
func New(model string) *Counter {
	c := &Counter{share: unknownShare, known: map[string]int{}}
	if slices.ContainsFunc(present, func(begins string) bool { return strings.HasPrefix(model, begins) }) {
		c.share = 1
	}
	return c
}

// Count gives the number of tokens of a text; for a model whose tokenizer is
// not known, an estimate that is rather too high.
func (c *Counter) Count(text string) int {
	if text == "" {
		return 0
	}
	c.mu.Lock()
	n, ok := c.known[text]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.count(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += len(text); c.bytes > cacheBytes {
		c.known, c.bytes = map[string]int{}, len(text)
	}
	c.known[text] = n
	return n
}

func (c *Counter) count(text string) int {
	return int(math.Ceil(float64(o200k().count(text)) * c.share))
}

// present are the models, by how their names begin, whose tokenizer the table is.
var present = []string{"gpt-4o", "gpt-4.", "gpt-5", "chatgpt-", "o1", "o3", "o4", "ft:gpt-4o", "ft:gpt-4."}
