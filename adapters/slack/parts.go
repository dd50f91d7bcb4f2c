package slack

import (
	"sync"

	"nod/chat"
)

// pages are the messages of long answers besides the first, which the rest of
// the program knows an answer by: people react to the one that they have read last.
// What another process posted, or this one before it was started anew, is not known.
type pages struct {
	mu sync.Mutex
	of map[chat.MessageRef]string // timestamp of the first
}

// note notes that a message goes on with the answer that begins with first.
func (p *pages) note(ref chat.MessageRef, first string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) >= mostNames {
		p.of = map[chat.MessageRef]string{}
	}
	p.of[ref] = first
}

// first gives the first message of the answer that a message belongs to, or the
// message itself.
func (p *pages) first(ref chat.MessageRef) chat.MessageRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ts, ok := p.of[ref]; ok {
		ref.ID = ts
	}
	return ref
}
