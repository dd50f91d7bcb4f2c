// Package tokens counts tokens as a model's tokenizer does. The tables of a
// tokenizer take some 20 ms to load, and so are loaded at the first count. It
// imports nothing of nod.
package tokens

import (
	"math"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// Counter counts for one model. It is safe for concurrent use and remembers
// what it counted lately, since a prompt is counted again at every call.
type Counter struct {
	model string
	load  sync.Once
	codec tokenizer.Codec
	share float64 // tokens of the model for one of the codec

	mu    sync.Mutex
	known map[string]int
	bytes int
}

// unknownShare is what is added for a model whose tokenizer is not known.
const unknownShare = 1.1

// cacheBytes bounds the texts that are remembered.
const cacheBytes = 4 << 20

// New returns a counter for the model of that name.
func New(model string) *Counter { return &Counter{model: model, known: map[string]int{}} }

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
	c.load.Do(c.open)
	if c.codec == nil {
		return len(text)
	}
	n, err := c.codec.Count(text)
	if err != nil {
		return len(text)
	}
	return int(math.Ceil(float64(n) * c.share))
}

// open loads the model's tokenizer, or the nearest one.
func (c *Counter) open() {
	c.share = 1
	codec, err := tokenizer.ForModel(tokenizer.Model(c.model))
	if err != nil {
		c.share = unknownShare
		codec, err = tokenizer.Get(tokenizer.O200kBase)
	}
	if err == nil {
		c.codec = codec
	}
}
