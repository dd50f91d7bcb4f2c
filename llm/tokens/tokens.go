// Package tokens counts tokens as a model's tokenizer does. The tables of a
// tokenizer take some 20 ms to load, and so are loaded at the first count. It
// imports nothing of nod.
package tokens

import (
	"math"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Counter counts for one model. It is safe for concurrent use and remembers
// what it counted lately, since a prompt is counted again at every call.
type Counter struct {
	model string
	load  sync.Once
	codec *codec.Codec
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
	n, err := c.codec.Count(text)
	if err != nil {
		return len(text)
	}
	return int(math.Ceil(float64(n) * c.share))
}

// older are the models, by how their names begin, whose tokenizer is not the
// present one. The library's own list knows tables of models that can't chat, too,
// which would be in the program for nobody; so each table is named here.
var (
	older   = []string{"gpt-4-", "gpt-3.5", "gpt-35", "ft:gpt-4", "ft:gpt-3.5", "davinci-002", "babbage-002", "text-embedding-ada"}
	present = []string{"gpt-4o", "gpt-4.", "gpt-5", "chatgpt-", "o1", "o3", "o4", "ft:gpt-4o", "ft:gpt-4."}
)

func oneOf(model string, beginnings []string) bool {
	for _, b := range beginnings {
		if strings.HasPrefix(model, b) {
			return true
		}
	}
	return false
}

// open loads the model's tokenizer, or the nearest one.
func (c *Counter) open() {
	c.share = 1
	switch {
	case oneOf(c.model, present):
		c.codec = codec.NewO200kBase()
	case c.model == "gpt-4" || oneOf(c.model, older):
		c.codec = codec.NewCl100kBase()
	default:
		c.share = unknownShare
		c.codec = codec.NewO200kBase()
	}
}
