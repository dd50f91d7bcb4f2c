package memory

import "sync"

// Bell tells the holder of a run that something happened to its thread. It is safe for
// concurrent use. The zero Bell is ready.
type Bell struct {
	mu         sync.Mutex
	mail, lost bool
	ring       func()
}

// Mail rings because an entry may have arrived. The store calls it.
func (b *Bell) Mail() { b.note(func() { b.mail = true }) }

// Lose rings because the lease is lost. The store calls it.
func (b *Bell) Lose() { b.note(func() { b.lost = true }) }

func (b *Bell) note(what func()) {
	b.mu.Lock()
	what()
	ring := b.ring
	b.mu.Unlock()
	if ring != nil {
		ring()
	}
}

// Listen sets the function to call at each ring, and calls it now if the bell has rung.
// It must not block, nor use the store.
func (b *Bell) Listen(ring func()) {
	b.mu.Lock()
	b.ring = ring
	waits := b.mail || b.lost
	b.mu.Unlock()
	if waits && ring != nil {
		ring()
	}
}

// Take says whether an entry arrived since the last Take, and whether the lease is
// lost, which stays so.
func (b *Bell) Take() (mail, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	mail, b.mail = b.mail, false
	return mail, b.lost
}

// Lost says whether the lease is lost.
func (b *Bell) Lost() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}
